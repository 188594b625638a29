"""Damaged inputs: whatever a file says, incprof answers in a line or few, soon, and with little memory."""

from __future__ import annotations

import collections
import os
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from soak import (
    subjects_arguments,
    subjects_beats,
    subjects_programs,
    subjects_runs,
    subjects_series,
    subjects_settings,
    subjects_sources,
)
from soak.budget import Budget
from soak.finding import Keeper
from soak.subject import Subject, draw
from soak.worker import Worker, warm_up

# Cases of a kind that follow each other.
ROUND = 20


def all_subjects(scratch: Path) -> list[Subject]:
    """Every kind of input. Programs and recordings are made at the first time, and kept in `scratch`."""
    own = [*subjects_beats.subjects(), *subjects_series.subjects(), *subjects_sources.subjects()]
    more = [*subjects_settings.subjects(), *subjects_arguments.subjects()]
    return [*subjects_runs.subjects(scratch), *own, *subjects_programs.subjects(scratch), *more]


def order(subjects: Sequence[Subject], seed: int) -> Iterator[tuple[str, int]]:
    """Names and numbers of cases, without end: the same for the same seed, each kind as often as its share says."""
    dice, next_number = random.Random(seed), collections.Counter[str]()
    while True:
        (subject,) = dice.choices(subjects, [subject.share for subject in subjects])
        for _ in range(ROUND):
            yield subject.name, next_number[subject.name]
            next_number[subject.name] += 1


def fast_place() -> Path:
    """A folder in memory, where that is possible."""
    return Path(tempfile.mkdtemp(prefix="soak-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))


def run(seed: int, budget: Budget, scratch: Path, keeper: Keeper, only: str = "") -> collections.Counter[str]:
    """Run cases until the budget is spent; returns how many of each kind. only: subject, or subject/number."""
    subjects = all_subjects(scratch)
    name, _, one = only.partition("/")
    if name:
        subjects = [subject for subject in subjects if subject.name == name]
    by_name = {subject.name: subject for subject in subjects}
    place, done = fast_place(), collections.Counter[str]()
    # Tables of symbols are kept by build-id, and one that is damaged must not be the next one's.
    os.environ["XDG_CACHE_HOME"] = str(place / "none")
    (place / "none").touch()
    worker = Worker(subjects, seed, place / "case")
    try:
        for wrong in warm_up(subjects, place / "case"):
            keeper.keep(f"inputs/{wrong.split(':')[0]}/undamaged", wrong, {})
        budget.start += budget.spent_s()
        cases = iter([(name, int(one))]) if one else order(subjects, seed)
        while budget.more():
            try:
                subject, number = next(cases)
            except StopIteration:
                break
            result = worker.run(subject, number)
            done[subject] += 1
            done[f"status {result.status}"] += 1
            for wrong in result.wrong:
                case = draw(by_name[subject], seed, number)
                keeper.keep(f"inputs/{case.name}", wrong, case.tree, words=case.words)
    finally:
        worker.end()
        os.chdir("/")
        shutil.rmtree(place, ignore_errors=True)
    return done
