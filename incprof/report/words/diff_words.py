"""User-facing text about two compared runs: sentences, cells of tables, and failed gates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from incprof.analysis.compare import Condition
from incprof.analysis.diff.diff_result import AmountRow, Comparison, EnergyRow, Figure, PhaseRow, Row, Side
from incprof.analysis.diff.reasons import main_reason
from incprof.report.words import formatting as words
from incprof.report.words.display_names import ROOM, SHORT, Names
from incprof.report.words.formatting import SIMULATED, count, signed
from incprof.safe.printable import printable

VERDICTS = {"gone": "not in B", "new": "not in A"}
# A function with a smaller share of both runs gets no line, unless it changed.
WORTH = 0.01
# The same for steps, as a share of their phase.
WORTH_STEP = 0.1
# A factor that would be a change: the limit of the gates in README and docs, 10 %. By 5 %, a quarter of equal phases
# are inconclusive, and by 20 %, most that are slower are called the same.
MATTERS = 1.1
# From this factor on, the change is given as a factor instead of percent; from that one on, as no number.
FAR, FARTHEST = 10.0, 1000.0
# Rows of a condition listed in one line.
SAID = 4
# An interval of a change that is so many times as wide as the variation from run to run is not due to that.
WIDE = 12
# Fewer intervals of a phase than these hardly show how its pace varies. Shorter intervals than these are not advised.
FEW_INTERVALS, SHORTEST_S = 8, 0.02


AMOUNTS: dict[str, Callable[[float], str]] = {
    "s": words.seconds,
    "B": words.decimal_size,
    "J": words.joules,
    "ratio": lambda value: f"{value:.3g}",
    "count": lambda value: f"{value:.4g}" if value < 1e6 else words.decimal_size(value).removesuffix("B"),
}
BY = {
    "instructions": "it executes more instructions",
    "cycles": "as many instructions take longer",
    "both": "more instructions, and each takes longer",
}


def why_lines(comparison: Comparison) -> list[str]:
    """Return the main reason for the change of the run and of each phase, and the functions that only one side runs."""
    names, of_run = row_names(comparison), why(comparison.run) if len(comparison.phases) > 1 else None
    return [f"{comparison.run.name}: {of_run}"] * (of_run is not None) + [
        f"{named(phase, names)}: {said}"
        for phase in comparison.phases
        for said in (why(phase), only(phase))
        if said is not None
    ]


def only(phase: PhaseRow) -> str | None:
    """Return the functions that only one side runs in a phase of both; None if there are none."""
    sides = zip("AB", phase.only, strict=True)
    parts = [
        f"only {side} runs {', '.join(f'{SHORT(name, ROOM)} ({words.percent(share)})' for name, share in functions)}"
        for side, functions in sides
        if functions
    ]
    return "; ".join(parts) or None


def why(phase: Row) -> str | None:
    """Return the main reason for the change of a phase or of the run; None if there is none."""
    main = main_reason(phase)
    if main is None:
        return None
    change_s = (phase.only_cpu or phase).change_s if main.of_cpu else phase.change_s
    more = change_s > 0
    line = f"{words.seconds(abs(change_s))} {'more' if more else 'less'}"
    line += " CPU time" if main.of_cpu else f", {_part(main.part)} of it {main.row.what}"
    line += "" if main.kernel is None else f" ({_part(main.kernel)} in the kernel)"
    line += "".join(f", {words.percent(part)} {row.what}" for row, part in main.others)
    if main.moved is not None:
        a, b = (AMOUNTS["B"](side.seconds) for side in (main.moved.a, main.moved.b))
        line += f"; {main.moved.what}: {a} in A, {b} in B"
    if main.by is None:
        return line
    rows = {row.metric: row for row in phase.reasons}
    changes = (f"{rows[metric].what} {change(rows[metric])} ({interval(rows[metric])})" for metric in INSIDE_CPU)
    because = f", because {BY[main.by]}" if more else ""
    return f"{line}{because}: {', '.join(changes)}"


def _part(part: float) -> str:
    """Return the part of a change that a reason makes up."""
    return words.percent(part) if part < ALL else "all"


# A reason that rounds to 100 % of a change is all of it.
ALL = 0.995
# Amounts that CPU time is a product of, at one frequency.
INSIDE_CPU = ("instructions", "cpi")


def amount_change(row: AmountRow) -> str:
    """Return the change of an amount in percent of A, or as a factor; in its unit where only one side has any."""
    if min(row.a.seconds, row.b.seconds) > 0:
        return change(row)
    return ("-" if row.change_s < 0 else "+") + AMOUNTS[row.unit](abs(row.change_s))


def amount_interval(row: AmountRow) -> str:
    """Return the interval of the change of an amount; in its unit where only one side has any."""
    if row.difference is None:
        return interval(row)
    low, high = sorted(abs(end) for end in row.difference)
    return f"{'-' if row.change_s < 0 else '+'}{AMOUNTS[row.unit](low)} to {AMOUNTS[row.unit](high)}"


def verdict(row: Row) -> str:
    """Return a verdict for people; where wall and CPU time disagree, it names the clock."""
    if isinstance(row, PhaseRow) and row.elsewhere:
        return f"elsewhere in {'B' if row.verdict == 'gone' else 'A'}"
    if row.cpu is not None and row.cpu.verdict != row.verdict:
        return f"{row.cpu.verdict} by CPU" if row.verdict == "same" else f"{row.verdict} by wall"
    return "inconclusive" if is_open(row) else VERDICTS.get(row.verdict, row.verdict)


def is_open(row: Row) -> bool:
    """Return whether a row is within noise, but its interval also contains a change that matters."""
    return row.verdict == "same" and row.ci is not None and not 1 / MATTERS <= row.ci.low <= row.ci.high <= MATTERS


def sure(row: Row) -> str:
    """Return the verdict that colours a row: `unsure` where it is inconclusive.

    It is inconclusive where wall and CPU time disagree, its work moved elsewhere, or the interval is too wide.
    """
    if row.disagrees or (isinstance(row, PhaseRow) and row.elsewhere) or (row.only_cpu is None and is_open(row)):
        return "unsure"
    return row.verdict if row.only_cpu is None else row.only_cpu.verdict


AS_ENERGY = {"slower": "more", "faster": "less"}


def energy_cells(row: Row, energy: EnergyRow) -> tuple[str, ...]:
    """Return the cells of a row after its name: joules, change, interval, verdict, mean power."""
    a, b = (words.joules(side.seconds) if side.seconds > 0 else "-" for side in (energy.a, energy.b))
    verdict = AS_ENERGY.get(energy.verdict, VERDICTS.get(energy.verdict, energy.verdict))
    moved = change(energy) if min(energy.a.seconds, energy.b.seconds) > 0 else "-"
    return a, b, moved, interval(energy), verdict, watts(row.a, energy.a), watts(row.b, energy.b)


def watts(time: Figure, energy: Figure) -> str:
    """Return the mean power; `-` where there is none."""
    return f"{words.rate(energy.seconds / time.seconds)} W" if time.seconds > 0 and energy.seconds > 0 else "-"


def change(row: Row) -> str:
    """Return the change in percent of A, or as a factor (`x36`); in seconds where only one side has any."""
    if not min(row.a.seconds, row.b.seconds) > 0:
        return "-" if row.verdict == "same" else ("-" if row.change_s < 0 else "+") + words.seconds(abs(row.change_s))
    ratio = row.b.seconds / row.a.seconds
    return _factor(ratio) if ratio >= FAR else f"{_percent(ratio)} %"


def interval(row: Row) -> str:
    """Return the confidence interval of the change, in percent, or as a factor (`x36`); `-` if not available."""
    if row.ci is None:
        return "-"
    low, high = row.ci.low, row.ci.high
    if low >= FAR:
        return f"{_factor(low)} to {_factor(high)}"
    return f"{_percent(low)} % to {_factor(high)}" if high >= FAR else f"{_percent(low)} to {_percent(high)} %"


def _percent(factor: float) -> str:
    """Return a factor as a change in percent with its sign."""
    return signed(100 * (factor - 1)) if abs(factor - 1) < 1 else f"{100 * (factor - 1):+.0f}"


def _factor(factor: float) -> str:
    """Return a factor in a form that is easier to read than percent."""
    return f"x{factor:.0f}" if factor < FARTHEST else f">x{FARTHEST:.0f}"


def seconds(figure: Figure) -> str:
    """Return seconds; `-` for none."""
    return "-" if figure.seconds <= 0 else words.elapsed(figure.seconds)


def calls(figure: Figure) -> str:
    """Return calls; `-` where there are none, or calls were not counted."""
    if not figure.calls:
        return "-"
    return f"{figure.calls:.0f}" if figure.calls < 1e7 else f"{figure.calls:.3g}".replace("e+0", "e")


def share(figure: Figure) -> str:
    """Return a share in percent."""
    return f"{100 * figure.share:.1f}"


def row_names(comparison: Comparison) -> Names:
    """Return the names of the functions of all rows."""
    rows = (*comparison.phases, *(step for phase in comparison.phases for step in phase.steps), *comparison.functions)
    return Names(row.name.removesuffix(row.behind) for row in rows)


def named(row: Row, names: Names = SHORT, room: int = ROOM) -> str:
    """Return the name of a row, printable, in that many columns."""
    if row.kind == "run":
        return row.name
    return names(row.name.removesuffix(row.behind), max(room - len(row.behind), 1)) + row.behind


def alike(row: PhaseRow) -> str:
    """Return the similarity of the two sides of a phase, in percent."""
    return "-" if row.likeness is None else f"{100 * row.likeness:.0f} %"


def run_line(side: Side) -> str:
    """Describe a run in one line."""
    run = side.summary
    parts = [printable(run.app), f"rank {run.rank}" + (f" of {run.ranks} ranks" if run.ranks > 1 else "")]
    parts.append(f"{count(run.intervals, 'interval')} of {run.interval_s:g} s{run.how_cut}")
    return ", ".join([*parts, words.elapsed(run.duration_s), count(run.samples, "sample")])


def verdict_line(comparison: Comparison) -> str:
    """Summarise the comparison in one sentence."""
    row = comparison.run.only_cpu or comparison.run
    cpu = " CPU" * (comparison.clock == "cpu" or row is not comparison.run)
    what = {"slower": f"takes more{cpu} time", "faster": f"takes less{cpu} time"}
    if row.disagrees and row.cpu is not None:
        return (
            f"Wall and CPU time disagree: {seconds(row.a)} in A, {seconds(row.b)} in B, {change(row)} (95 % interval "
            f"{interval(row)}); CPU time {seconds(row.cpu.a)} and {seconds(row.cpu.b)}, {change(row.cpu)} "
            f"({interval(row.cpu)}): {why_apart(row)}"
        )
    same = "may take more or less, inconclusive" if is_open(row) else f"takes as much{cpu} time, within noise"
    said = what.get(row.verdict, same)
    return f"B {said}: {seconds(row.a)} in A, {seconds(row.b)} in B, {change(row)} (95 % interval {interval(row)})"


def why_apart(row: Row) -> str:
    """Return a possible reason for the disagreement of wall and CPU time."""
    more_wall = row.cpu is not None and row.b.seconds * row.cpu.a.seconds > row.a.seconds * row.cpu.b.seconds
    return f"in {'B' if more_wall else 'A'}, other programs had the CPU, or it waited"


def phases_line(comparison: Comparison) -> str:
    """Return how the phases of the two runs match."""
    parts = []
    said = {"same": "same within noise", "unsure": "inconclusive", **VERDICTS}
    for kind in ("slower", "faster", "new", "gone", "unsure", "same"):
        number = sum(sure(row) == kind for row in comparison.phases)
        if number:
            parts.append(f"{number} {said.get(kind, kind)}")
    return f"{count(len(comparison.phases), 'phase')}: {', '.join(parts)}" if parts else "no phases"


def matched_line(row: PhaseRow, first: int) -> str:
    """Return the phases of the runs that a row combines, if it is not one of each."""
    sides = row.members[:first], row.members[first:]
    texts = ["; ".join(",".join(map(str, one)) or "-" for one in side) for side in sides]
    return f"{texts[0]} | {texts[1]}"


def noise_line(comparison: Comparison) -> str:
    """Return the sources of variation that the intervals include."""
    if comparison.run_noise is None:
        return (
            f"{time_line(comparison)} Intervals are from the scatter of {count(len(comparison.a), 'run')} of A and "
            f"{len(comparison.b)} of B."
        )
    return (
        f"{time_line(comparison)} One run of each: verdicts allow for {100 * comparison.run_noise:.2g} % from run to "
        + (
            "run, which is assumed: give several of each to measure it."
            if comparison.is_noise_assumed
            else "run, which was given (--noise)."
        )
        + _interval_advice(comparison)
    )


def _interval_advice(comparison: Comparison) -> str:
    """Return advice to record in shorter intervals if a phase of few of them is inconclusive; "" for none."""
    sides = (*comparison.a, *comparison.b)
    fewest = [
        min(int((side.labels == row.group).sum()) for side in sides)
        for row in comparison.phases
        if is_open(row) and row.ci is not None and row.ci.high > row.ci.low * (1 + WIDE * (comparison.run_noise or 0.0))
    ]
    shorter_s = max(side.summary.interval_s for side in sides) / 10
    if not fewest or min(fewest) >= FEW_INTERVALS or shorter_s < SHORTEST_S:
        return ""
    return f" A phase of {count(min(fewest), 'interval')} is inconclusive: record with -i {shorter_s:g}."


def steps(row: PhaseRow, *, every: bool) -> list[Row]:
    """Return the steps of a phase to show: those that changed, and those that take some time."""
    return [s for s in row.steps if every or s.verdict != "same" or max(s.a.share, s.b.share) >= WORTH_STEP]


def time_line(comparison: Comparison) -> str:
    """Return the clock by which phases are measured."""
    said = {"wall": "Phases by wall time.", "cpu": "Phases by CPU time."}
    return said.get(comparison.clock, "Phases by wall time, gates by both.")


def shown_functions(comparison: Comparison, *, every: bool) -> list[Row]:
    """Return the functions to show: those that changed, and those that take some time."""
    if every:
        return list(comparison.functions)
    return [row for row in comparison.functions if row.verdict != "same" or max(row.a.share, row.b.share) >= WORTH]


def unsure_lines(unsure: Sequence[tuple[Condition, Row]]) -> list[str]:
    """Return the gates that would fail by one clock alone, a line each."""
    rows: dict[str, list[Row]] = {}
    for condition, row in unsure:
        rows.setdefault(printable(condition.text.strip()), []).append(row)
    out = []
    for text, of in rows.items():
        changes = "; ".join(_both_changes(row) for row in of[:SAID]) + " ..." * (len(of) > SAID)
        off = off_cpu(of[0])
        out.append(
            f"{text!r} does not fail: {changes}: {why_apart(of[0])}{off} (--time wall or --time cpu decides alone"
            + (", --fail-on 'waiting>10%' fails by time off the CPU)" if off else ")")
        )
    return out


def undecided_lines(undecided: Sequence[tuple[Condition, Row]]) -> list[str]:
    """Return the gates that one run of each side cannot decide, a line each."""
    rows: dict[str, Row] = {}
    for condition, row in undecided:
        rows.setdefault(printable(condition.text.strip()), row)
    return [
        f"inconclusive {text!r}: {named(row)} {change(row)}, but one run of each does not show how much runs of one "
        "build differ: give several of each side, or --noise PCT"
        for text, row in rows.items()
    ]


def run_gate_lines(run: Row, conditions: Sequence[Condition], decided: Iterable[Condition]) -> list[str]:
    """Return the gates on all phases that hold although the whole run is certainly slower by more, a line each.

    decided: the conditions that fail, or that the other lines are about.
    """
    if run.verdict != "slower" or run.ci is None or any(condition.metric == "run" for condition in conditions):
        return []
    others = {condition.text for condition in decided}
    of_phases = [
        condition
        for condition in conditions
        if condition.metric == "phase" and condition.selector is None and condition.more and condition.relative
    ]
    return [
        f"{printable(each.text.strip())!r} does not fail: no phase is certainly slower by more, but the whole run is, "
        f"{change(run)}: --fail-on 'run>{each.limit:g}%'"
        for each in of_phases
        if each.text not in others and run.ci.low > 1 + each.limit / 100
    ]


def off_cpu(row: Row) -> str:
    """Return the time that a row was off the CPU, if it differs between the sides."""
    if row.off_cpu_s is None:
        return ""
    a, b = (words.seconds(value) for value in row.off_cpu_s)
    return "" if a == b else f": it was off the CPU for {a} in A, {b} in B"


def _both_changes(row: Row) -> str:
    """Return the change by either clock."""
    return f"{named(row)} {change(row)} by wall time" + ("" if row.cpu is None else f", {change(row.cpu)} by CPU time")


def broken_line(condition: Condition, row: Row) -> str:
    """Return the row that fails a gate, with the evidence, in one line."""
    head = f"fails {printable(condition.text.strip())!r}: "
    head += row.name if row.kind == "run" else f"{'phase' if row.kind == 'amount' else row.kind} {named(row)}"
    if condition.metric == "share":
        return (
            f"{head}: {share(row.a)} % of A, {share(row.b)} % of B, {signed(100 * (row.b.share - row.a.share))} points"
        )
    if condition.metric == "calls":
        return f"{head}: {row.a.calls or 0:.0f} calls in A, {row.b.calls or 0:.0f} in B"
    if condition.metric == "waiting":
        return f"{head}: {seconds(row.a)} in A, {seconds(row.b)} in B{off_cpu(row)}"
    if condition.metric == "energy" and row.energy is not None:
        a, b, moved, within, *_ = energy_cells(row, row.energy)
        mark = f" ({SIMULATED})" if row.energy.simulated else ""
        return f"{head}: {a} in A, {b} in B{mark}, {moved} (95 % interval {within})"
    if isinstance(row, AmountRow):
        a, b = (AMOUNTS[row.unit](side.seconds) for side in (row.a, row.b))
        return f"{head}: {row.what} {a} in A, {b} in B, {amount_change(row)} (95 % interval {amount_interval(row)})"
    if row.verdict == "gone" and row.kind == "phase":
        return f"{head}: {seconds(row.a)} in A, not in B: if intended, make B the new baseline"
    if row.verdict in ("gone", "new"):
        return f"{head}: {seconds(row.a)} in A, {seconds(row.b)} in B: {verdict(row)}"
    by, other, clocks = row, row.cpu, ("", "by CPU time")
    if row.only_cpu is not None:
        by, other, clocks = row.only_cpu, row, ("CPU time ", "by wall time, which scatters more")
    line = f"{head}: {clocks[0]}{seconds(by.a)} in A, {seconds(by.b)} in B, {change(by)} (95 % interval {interval(by)})"
    line += "" if other is None else f"; {change(other)} {clocks[1]} ({interval(other)})"
    reason = why(row)
    return line if reason is None else f"{line}; {reason}"
