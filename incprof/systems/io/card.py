"""What phases read and write, on their cards."""

from __future__ import annotations

import os

from incprof.analysis.views.tracks import TimeBins
from incprof.model.card import CardPart
from incprof.model.section import Column, Lane, edges_of
from incprof.report.words.formatting import count, decimal_size, percent
from incprof.study.study import Study
from incprof.systems.io.analyse import PhaseIo, io_by_phase, rates_over_time
from incprof.systems.io.read import READ, READS, WRITES, WRITTEN, Totals, read_totals

# Below this share, bytes of rows of several phases are not worth a word.
WORTH = 0.01
# Bytes from or to storage without a call, from which they are worth one: the division of rows leaves some everywhere.
MAPPED_B = 1e6


def card(study: Study, bins: TimeBins | None) -> CardPart | None:
    """Return what each phase reads and writes; None if it was not recorded."""
    if study.process.series:
        return None
    totals = read_totals(study.process.path)
    if totals is None:
        return None
    phases = {each.id: each for each in io_by_phase(totals, study.profile, study.phases())}
    if totals.refusal is not None:
        phases = {}
    columns = (
        Column("Read", lambda phase: _shown(phases, phase, "read_b"), "kB", drop=3, key="read_b"),
        Column("Written", lambda phase: _shown(phases, phase, "written_b"), "kB", drop=3, key="written_b"),
        Column("Input and output", lambda phase: sentence(phases[phase]) if phase in phases else None, sentence=True),
    )
    lanes = () if bins is None or not phases else _lanes(totals, bins)
    return CardPart("io", {each.id: _value(each) for each in phases.values()}, columns, lanes, tuple(notes(totals)))


def _shown(phases: dict[int, PhaseIo], phase: int, name: str) -> int | None:
    """Return bytes of a phase; None where they are not available."""
    return round(getattr(phases[phase], name)) if phase in phases else None


def _value(one: PhaseIo) -> dict[str, object]:
    """Return the JSON value of a phase."""
    return {
        "read_b": round(one.read_b),
        "written_b": round(one.written_b),
        "operations": round(one.reads) + round(one.writes),
        "reads": round(one.reads),
        "writes": round(one.writes),
        "from_storage_b": round(one.from_storage_b),
        "to_storage_b": round(one.to_storage_b),
        "divided": round(one.divided, 4),
    }


def sentence(one: PhaseIo) -> str | None:
    """Return what a phase reads and writes; None if it does neither."""
    parts = [
        _part("reads", one.read_b, one.reads, one.seconds, one.from_storage_b, "from storage"),
        _part("writes", one.written_b, one.writes, one.seconds, one.to_storage_b, "to storage"),
    ]
    told = [part for part in parts if part]
    if not told:
        return None
    doubt = f"; {percent(one.divided)} of it divided among phases of the same interval" if one.divided >= WORTH else ""
    return " and ".join(told) + doubt


def _part(verb: str, amount: float, calls: float, seconds: float, storage: float, where: str) -> str:
    """Return "reads 12 MB in 30 calls of 400 kB (3 MB/s), 1 MB from storage"; "" for nothing."""
    made = round(calls)
    if not made:
        return f"{verb} {decimal_size(storage)} {where}, by mapped files" if storage >= MAPPED_B else ""
    each = f" of {decimal_size(round(amount / calls))}" if made > 1 else ""
    speed = f" ({decimal_size(round(amount / seconds))}/s)" if seconds > 0 and amount >= seconds else ""
    stored = f", {decimal_size(storage)} {where}" if storage >= 1 else ""
    return f"{verb} {decimal_size(round(amount))} in {count(made, 'call')}{each}{speed}{stored}"


def _lanes(totals: Totals, bins: TimeBins) -> tuple[Lane, ...]:
    """Return bytes read and written per second over the bins of a page, if there are any."""
    read, written = rates_over_time(totals, bins.start_s, bins.end_s)
    found = []
    for name, key, values, column in (("read", "read", read, READ), ("written", "written", written, WRITTEN)):
        if totals.values[:, column].sum() > 0:
            edges, drawn = edges_of(bins.start_s, bins.end_s, values)
            found.append(Lane(name, "kB/s", edges, drawn, f"bytes {name} by calls of the process", key))
    return tuple(found)


def notes(totals: Totals) -> list[str]:
    """Return sentences about all phases."""
    if totals.refusal is not None:
        why = os.strerror(totals.refusal)
        return [f"What the process read and wrote is not available: /proc/self/io: {why}"]
    read, written = (decimal_size(float(totals.values[:, column].sum())) for column in (READ, WRITTEN))
    calls = count(round(float(totals.values[:, (READS, WRITES)].sum())), "call")
    found = [f"The process read {read} and wrote {written} in {calls}, as the kernel counted"]
    if totals.with_children:
        found.append("This includes what its child processes read and wrote: some of its threads had ended")
    elif totals.children[[READ, WRITTEN]].any():
        read, written = (decimal_size(float(totals.children[column])) for column in (READ, WRITTEN))
        found.append(f"Child processes that it waited for read {read} and wrote {written} more, in no phase")
    if totals.damaged:
        found.append(f"{count(totals.damaged, 'record')} of input and output could not be read")
    return found
