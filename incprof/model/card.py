"""The card of a phase: what it uses and waits for, in parts from several systems.

A system contributes by one function in its module `card.py`:

    def card(study: Study, bins: TimeBins | None) -> CardPart | None

None if nothing was recorded; lanes only if bins were given. `incprof.report.card_answer` combines the parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from incprof.model.section import Column, Lane


@dataclass(frozen=True)
class Amount:
    """An amount of something in each phase, which `incprof diff` compares.

    Attributes:
        metric: Name in a condition, after `phase.`: "wait.lock".
        name: "waiting for locks".
        unit: "s", "B", "J" or "count".
        values: By the number of the phase, from 0 on; phases of which it is unknown are missing.
    """

    metric: str
    name: str
    unit: str
    values: Mapping[int, float]


@dataclass(frozen=True)
class CardPart:
    """A system's part of the cards of all phases.

    Attributes:
        key: Name in the JSON object of a card: "waiting".
        values: JSON value of each phase, by its number; phases without a value are missing.
        columns: One to three columns, whose `get` takes the number of a phase. Sentences belong to the phase's panel.
        lanes: Values over the time of the run.
        notes: Sentences about all phases: what is missing, was left out, or was not permitted.
        amounts: What `incprof diff` compares.
    """

    key: str
    values: Mapping[int, object]
    columns: tuple[Column, ...]
    lanes: tuple[Lane, ...] = ()
    notes: tuple[str, ...] = ()
    amounts: tuple[Amount, ...] = ()
