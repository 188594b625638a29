"""Attempts, for any length of time, to break the promises of incprof: damaged inputs, faults of host programs, kills.

    python -m soak [--seconds 600] [--seed N] [--only inputs/stream]

docs/reference/reliability.md lists the promises and the results. Everything is drawn from the seed: a finding is
printed with the command that draws it again, and its files are kept.
"""
