"""Kinds of inputs: the damage to them, and the commands that read them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from soak.mutate import Mutator

# Files by their path in a case's folder.
Tree = dict[str, bytes]
Command = tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """A kind of input.

    seeds: undamaged ones. target: which of a seed's files are damaged, a pattern of their paths, and by what. commands:
    with the share of the cases that each gets. A command is one of incprof, or of readers.py; `{new}` in it is a file
    that does not exist yet. change: damage to the whole instead, such as to names. words: damage to the command.
    """

    name: str
    share: float
    seeds: Sequence[Tree]
    target: str
    mutator: Mutator
    commands: Sequence[tuple[float, Command]]
    change: Callable[[random.Random, Tree], Tree] | None = None
    words: Callable[[random.Random, Command], Command] | None = None

    @cached_property
    def others(self) -> list[bytes]:
        """All files that may be damaged."""
        return [tree[path] for tree in self.seeds for path in self.targets(tree)]

    def targets(self, tree: Tree) -> list[str]:
        """Return the files of a seed that may be damaged."""
        return [path for path in tree if re.fullmatch(self.target, path)]


@dataclass(frozen=True)
class Case:
    """An input and a command that reads it. `name` (subject/number) draws it again. seed: the undamaged input."""

    name: str
    tree: Tree
    words: Command
    seed: Tree

    @property
    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(map(len, self.tree.values()))


def draw(subject: Subject, seed: int, number: int) -> Case:
    """Return case `number` of a subject; it depends only on the seed, not on earlier cases."""
    name = f"{subject.name}/{number}"
    dice = random.Random(f"{seed} {name}")
    undamaged = dice.choice(subject.seeds)
    tree = dict(undamaged)
    if subject.change is not None and dice.random() < 0.7:
        tree = dict(subject.change(dice, tree))
    else:
        others, found = subject.others, subject.targets(tree)
        for path in dice.sample(found, min(len(found), dice.choice((1, 1, 1, 2)))):
            tree[path] = subject.mutator(dice, tree[path], others)
    shares = [share for share, _ in subject.commands]
    ((_, words),) = dice.choices(subject.commands, shares)
    return Case(name, tree, words if subject.words is None else subject.words(dice, words), undamaged)


def tree_of(directory: Path, prefix: str = "") -> dict[str, bytes]:
    """Return the files below a directory, by their relative paths with `prefix` in front."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {f"{prefix}{path.relative_to(directory)}": path.read_bytes() for path in files}
