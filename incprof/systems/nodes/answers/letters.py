"""Runs in the paper's letters: read from files, converted to letters, and predicted from each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from incprof.study.listener import Listener
from incprof.systems.nodes.analyse.paper_letters import LetterOptions, PaperLetters, Recording, paper_letters
from incprof.systems.nodes.answers.nodes import Source, series_of

# Name of the node of files that name none: they are assumed to belong to one node.
ONE_NODE = "node"


def letters_of(
    sources: Sequence[Source], tests: Sequence[Source], options: LetterOptions, listener: Listener
) -> PaperLetters:
    """Convert the runs in some files to letters, and predict those in `tests`, or without tests each from the others.

    Raises: as the readers do; NoDataError: power is missing, no counter is common to all, or all nodes are idle.
    """
    return paper_letters(_recordings(sources, listener), _recordings(tests, listener), options)


def _recordings(sources: Sequence[Source], listener: Listener) -> list[Recording]:
    """Read files one after the other. Each file is a run, even if several have the same node and time."""
    found = []
    for source in sources:
        series, _ = series_of([source], listener)
        for each in series:
            own = each if each.named or len(series) > 1 else replace(each, node=ONE_NODE)
            found.append(Recording(own, source.application, "+".join(source.paths)))
    return found
