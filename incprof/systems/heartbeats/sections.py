"""Heartbeats on the cards of phases: those of the recorded process, in files beside the run or inside of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

import numpy as np

from incprof.analysis.energy import overlaps
from incprof.analysis.heartbeats import row_factors
from incprof.analysis.views.tracks import TimeBins
from incprof.errors import IncprofError
from incprof.model import FloatArray
from incprof.model.section import Amount, CardPart, Column
from incprof.report.words.display_names import clean
from incprof.report.words.formatting import rate, seconds
from incprof.study.heartbeat_files import ProcessBeats, load_beats, offset_s
from incprof.study.study import Study


class PhaseBeat(TypedDict):
    """A heartbeat in a phase, as in JSON.

    Attributes:
        id: its number.
        name: its name, if it has one.
        count: executions.
        mean_s: mean duration, seconds; None without beats that ended.
        rate_hz: executions per second of the phase.
    """

    id: int
    name: str | None
    count: float
    mean_s: float | None
    rate_hz: float


KEY = "heartbeats"
# Directories that are looked at, the last written first.
MOST_DIRECTORIES = 16
MOST_NAMED = 3
# A file written for the last time this long before the recording began is of another run.
BEFORE_S = 60.0
# Fewer executions in a phase are of its neighbours.
LEAST = 0.5


def card(study: Study, bins: TimeBins | None) -> CardPart | None:
    """Return the heartbeats in each phase; None if the recorded process has none beside its run."""
    del bins
    beats = _of_process(study)
    if beats is None:
        return None
    values = _by_phase(study, beats)
    rates = {phase: max(beat["rate_hz"] for beat in each) for phase, each in values.items() if each}
    columns = (
        Column("Beats/s", rates.get, "number", drop=6, key="rate_hz"),
        Column("Heartbeats", lambda phase: _sentence(values.get(phase, [])), sentence=True),
    )
    executions = {phase: sum(beat["count"] for beat in each) for phase, each in values.items()}
    amounts = (Amount(KEY, "heartbeats", "count", executions),)
    return CardPart(KEY, {phase: each for phase, each in values.items() if each}, columns, amounts=amounts)


def _of_process(study: Study) -> ProcessBeats | None:
    """Return the heartbeats of the recorded process; None if there are none. Files of others are passed over."""
    if study.process.series:
        return None
    for directory in _directories(study):
        try:
            beats = load_beats(str(directory), study.profile)
        except (IncprofError, OSError):
            continue
        if offset_s(study.profile, beats.process) is not None:
            return beats
    return None


def _directories(study: Study) -> Iterator[Path]:
    """Yield the run's directory, and those beside it, which have heartbeats of its rank written since it began."""
    run = Path(study.run.directory).absolute()
    began_ns = study.profile.metadata.raw.get("start_unix_ns")
    earliest_s = (began_ns if isinstance(began_ns, int) else 0) / 1e9 - BEFORE_S
    found = []
    for file in (*run.glob("rank-*.ekg"), *run.parent.glob("*/rank-*.ekg")):
        try:
            written_s = file.stat().st_mtime
        except OSError:
            continue
        if written_s >= earliest_s:
            found.append((written_s, str(file.parent)))
    latest = sorted(found, reverse=True)
    yield from map(Path, list(dict.fromkeys(name for _, name in latest))[:MOST_DIRECTORIES])


def _by_phase(study: Study, beats: ProcessBeats) -> dict[int, list[PhaseBeat]]:
    """Return the JSON values of the heartbeats of each phase, those with most time first.

    An interval of heartbeats in which the phase changes is divided by time.
    """
    process, result, profile = beats.process, study.phases(), study.profile
    rows = beats.heartbeats.rows[beats.heartbeats.rows["process"] == beats.place]
    offset = offset_s(profile, process) or 0.0
    start, end = (process.intervals[name] / 1e9 + offset for name in ("start_ns", "end_ns"))
    inside = overlaps(start, end, profile.start_s, profile.end_s, result.labels, result.k)
    share: FloatArray = inside / np.maximum(end - start, 1e-9)
    out: dict[int, list[PhaseBeat]] = {}
    for phase in result.present:
        each = []
        for number, beat in sorted(beats.heartbeats.beats.items()):
            own = rows[rows["id"] == number]
            part = share[phase.id][own["interval"]]
            executed = (own["count"].astype(np.float64) + own["pulses"]) * row_factors(own, beat.rate_factor)
            count = float((executed * part).sum())
            ended = float((own["count"] * part).sum())
            if count >= LEAST:
                each.append(_value(number, beat.name, count, float((own["sum_ns"] * part).sum()) / 1e9, ended,
                                   float(inside[phase.id].sum())))  # fmt: skip
        out[phase.id] = sorted(each, key=lambda beat: -beat["rate_hz"] * (beat["mean_s"] or 0.0))
    return out


def _value(number: int, name: str | None, count: float, total_s: float, ended: float, phase_s: float) -> PhaseBeat:
    """Return the JSON value of a heartbeat in a phase."""
    return {
        "id": number,
        "name": name,
        "count": count,
        "mean_s": total_s / ended if ended > 0 else None,
        "rate_hz": count / phase_s if phase_s > 0 else 0.0,
    }


def _sentence(beats: list[PhaseBeat]) -> str | None:
    """Return the heartbeats with most time: "solve:loop 12.3 a second, 81 ms each"."""
    texts = []
    for beat in beats[:MOST_NAMED]:
        name = clean(beat["name"], 60) if beat["name"] else f"heartbeat {beat['id']}"
        mean = f", {seconds(beat['mean_s'])} each" if beat["mean_s"] else ""
        texts.append(f"{name} {rate(beat['rate_hz'])} a second{mean}")
    return "; ".join(texts) or None
