"""Fuzzing of the C code that reads untrusted bytes: harnesses for libFuzzer, their seeds, and a driver.

    python -m fuzz --seconds 600 cfi elf

A tool of this checkout, not installed with incprof. `fuzz/kept/<harness>/` holds inputs that once found a fault.
"""
