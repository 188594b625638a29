"""Work at the end of a recursion of a given depth, for a number of rounds."""

import sys


def work(rounds: int) -> int:
    """Use some CPU time, in nested calls."""
    return sum(sum(range(round_ % 500)) for round_ in range(rounds))


def descend(levels: int, rounds: int) -> int:
    """Recurse without C, since Python 3.11."""
    return work(rounds) if levels == 0 else descend(levels - 1, rounds) + 1


depth = int(sys.argv[1])
sys.setrecursionlimit(depth + 1000)
print(descend(depth, int(sys.argv[2])))
