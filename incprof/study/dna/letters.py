"""Runs in the paper's letters: files are read, spelt, and predicted by each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from incprof.analysis.dna.paper_letters import LetterOptions, PaperLetters, Recording, paper_letters
from incprof.study.dna.nodes import Source, series_of
from incprof.study.listener import Listener

# The node of files that name none: they are taken to be of one node.
ONE_NODE = "node"


def letters_of(
    sources: Sequence[Source], tests: Sequence[Source], options: LetterOptions, listener: Listener
) -> PaperLetters:
    """Spell the runs in some files, and predict those in `tests`, or each of them by the others where there are none.

    Raises: as the readers do; NoDataError: there is no power, no counter that all have, or all nodes are idle.
    """
    return paper_letters(_recordings(sources, listener), _recordings(tests, listener), options)


def _recordings(sources: Sequence[Source], listener: Listener) -> list[Recording]:
    """Read files, one after the other: each file is a run, also where several are of one node and one time."""
    found = []
    for source in sources:
        series, _ = series_of([source], listener)
        for each in series:
            own = each if each.named or len(series) > 1 else replace(each, node=ONE_NODE)
            found.append(Recording(own, source.application, "+".join(source.paths)))
    return found
