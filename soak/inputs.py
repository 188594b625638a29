"""Damaged inputs: whatever a file contains, incprof answers in a few lines, soon, and with little memory."""

from __future__ import annotations

import collections
import os
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from soak.budget import Budget
from soak.finding import Keeper
from soak.subject import Subject, draw
from soak.subjects import all_subjects
from soak.worker import Worker, warm_up

# Cases of a kind that follow each other; fewer of a kind that takes long, and so has a small share.
ROUND, SHORT_ROUND = 50, 5


def order(subjects: Sequence[Subject], seed: int) -> Iterator[tuple[str, int, int]]:
    """Yield rounds without end: subject, its first case, number of cases. Depends only on the seed and the shares."""
    dice, done = random.Random(seed), collections.Counter[str]()
    counts = [ROUND if subject.share >= 1 else SHORT_ROUND for subject in subjects]
    chances = [subject.share / count for subject, count in zip(subjects, counts, strict=True)]
    while True:
        ((subject, count),) = dice.choices(list(zip(subjects, counts, strict=True)), chances)
        yield subject.name, done[subject.name], count
        done[subject.name] += count


def fast_place() -> Path:
    """Return a folder in memory, if possible."""
    return Path(tempfile.mkdtemp(prefix="soak-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))


def run(seed: int, budget: Budget, scratch: Path, keeper: Keeper, only: str = "") -> collections.Counter[str]:
    """Run cases until the budget is used up; return the number of each kind. only: subject, or subject/number."""
    subjects = all_subjects(scratch)
    name, _, one = only.partition("/")
    if name:
        subjects = [subject for subject in subjects if subject.name == name]
    by_name = {subject.name: subject for subject in subjects}
    place, done = fast_place(), collections.Counter[str]()
    # Tables of symbols are kept by build-id, and one that is damaged must not be the next one's.
    os.environ["XDG_CACHE_HOME"] = str(place / "none")
    (place / "none").touch()
    worker = Worker(subjects, seed, place)
    try:
        for wrong in warm_up(subjects, place / "case"):
            keeper.keep(f"inputs/{wrong.split(':')[0]}/undamaged", wrong, {})
        budget.begin()
        for subject, first, count in [(name, int(one), 1)] if one else order(subjects, seed):
            if not (most := budget.more(count)):
                break
            results = worker.run(subject, first, most)
            done[subject] += most
            for status, times in results.statuses.items():
                done[f"status {status}"] += times
            for number, wrong in results.wrong:
                case = draw(by_name[subject], seed, number)
                keeper.keep(f"inputs/{case.name}", wrong, case.tree, words=case.words)
    finally:
        worker.end()
        os.chdir("/")
        shutil.rmtree(place, ignore_errors=True)
    return done
