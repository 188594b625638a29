"""Headings of tables and the name of an id: the same words in every answer."""

from __future__ import annotations

PHASE, FUNCTION, WHERE = "Phase", "Function", "Where"
OF_PHASE, OF_RUN = "% of phase", "% of run"
KIND, HEARTBEAT = "Kind", "Heartbeat"
