"""Recursion in Python: 400 calls deep, and there many short calls, so that every sample sees a deep stack."""

import sys


def fib(n):
    """Calls and nothing else."""
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def down(level, rounds):
    """Go down so many levels, and call from there."""
    return down(level - 1, rounds) if level else sum(fib(12) for _ in range(rounds))


print(down(400, int(sys.argv[1])))
