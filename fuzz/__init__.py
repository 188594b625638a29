"""Fuzzing of the C that reads bytes of others: harnesses for libFuzzer, what they start from, and how they are run.

    python -m fuzz --seconds 600 cfi elf

A tool of this checkout, not installed with incprof. `fuzz/kept/<harness>/` holds inputs that once found a fault.
"""
