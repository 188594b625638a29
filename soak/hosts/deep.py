"""Work at the end of a recursion: how deep, and how many rounds."""

import sys


def work(rounds: int) -> int:
    """Spend some time, in calls of its own."""
    return sum(sum(range(round_ % 500)) for round_ in range(rounds))


def descend(levels: int, rounds: int) -> int:
    """Calls that the interpreter makes without C, since 3.11."""
    return work(rounds) if levels == 0 else descend(levels - 1, rounds) + 1


depth = int(sys.argv[1])
sys.setrecursionlimit(depth + 1000)
print(descend(depth, int(sys.argv[2])))
