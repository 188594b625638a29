"""Tries for as long as you like to break what incprof promises: damaged inputs, faults of host programs, kills.

    python -m soak [--seconds 600] [--seed N] [--only inputs/stream]

docs/reliability.md says what is promised, and what came of it. Everything is drawn from the seed: a finding is told
with the command that draws it again, and its files are kept.
"""
