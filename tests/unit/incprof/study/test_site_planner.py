"""Which sites a phase gets in place of those that were refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from incprof.model import Code, Function
from incprof.study.sites import SitePlanner
from incprof.study.sites.place import Placer
from incprof.study.sites.store import UNKNOWN_RATE, PlacedSite
from incprof.study.study import Study
from tests.unit.profiles import two_phase_run
from tests.unit.streamwriter import Sample, StreamWriter


def test_what_one_phase_refuses_is_left_to_the_others(tmp_path: Path) -> None:
    writer = StreamWriter(["main", "solve", "io"])
    for i in range(24):
        what = "solve" if i < 12 else "io"
        writer.interval([Sample(f"main;{what}", weight=100)], arcs={("main", what): 50})
    writer.end()
    study = Study(str(writer.save(tmp_path / "run")))
    result, number = study.phases(confidence=False), {f.name: i for i, f in enumerate(study.profile.functions)}
    assert [[site.function.name for site in phase.sites] for phase in result.phases] == [["solve"], ["io"]]
    planner: Any = SitePlanner(None, study.chooser, result, None)  # type: ignore[arg-type]
    taken, refused = SimpleNamespace(refusal=None), SimpleNamespace(refusal="called in few of its intervals")
    solve, io = ((number[name], "body") for name in ("solve", "io"))

    def left(tried: dict[tuple[int, int, str], SimpleNamespace]) -> list[list[str]]:
        found = planner._without(result, tried)
        return [[site.function.name for site in phase.sites] for phase in found.phases]

    assert left({(0, *solve): taken, (1, *solve): refused, (1, *io): taken}) == [["solve"], ["io"]]
    everywhere = left({(0, *solve): refused, (1, *solve): refused, (1, *io): taken})
    assert "solve" not in everywhere[0]


def test_a_call_that_ends_within_its_phase_lasts_on_through_no_other(tmp_path: Path) -> None:
    writer = StreamWriter(["main", "sort", "encode"], interval_s=1.0)
    for i in range(42):
        # Encoding takes the last four of seven intervals, is called once, and ends in the next one.
        encoded = 0 if 1 <= i % 7 < 3 else 10 if i % 7 == 0 else 100
        samples = [Sample("main;encode", weight=encoded)] * (encoded > 0)
        samples += [Sample("main;sort", weight=100 - encoded)] * (encoded < 100)
        calls = {("main", "encode"): 1} if i % 7 == 3 else {("main", "sort"): 1} if i % 7 == 0 else {}
        writer.interval(samples, arcs=calls)
    writer.end()
    study = Study(str(writer.save(tmp_path / "run")))
    number = {f.name: i for i, f in enumerate(study.profile.functions)}
    placer = Placer(study.run, study.process, study.profile, study.phases(confidence=False), None)  # type: ignore[arg-type]
    placer.look_up(number.values())
    phase = next(p.id for p in study.phases(confidence=False).phases if p.functions[0].function.name == "encode")
    assert placer.lasts_on(number["encode"], (phase,))
    assert placer.phases_of(number["encode"]) == (phase,)
    assert placer.lasts_through(number["encode"], (phase,)) == ()
    # Its caller is called once in the whole run.
    assert placer.lasts_through(number["main"], (phase,)) == (1 - phase,)


@pytest.mark.parametrize("refusal", [None, "it also runs in other phases"])
def test_uncounted_loops_of_python_are_not_sites(tmp_path: Path, refusal: str | None) -> None:
    study = Study(str(two_phase_run(tmp_path / "run")))
    planner: Any = SitePlanner(None, study.chooser, study.phases(confidence=False), None)  # type: ignore[arg-type]
    code = Code("clean", 1, 0x30B, b"")
    functions = [Function("app.py", "clean", "clean", 0, "app.py", 1, code=each) for each in (code, None)]
    planner._chooser = SimpleNamespace(profile=SimpleNamespace(functions=functions))
    planner._placer = SimpleNamespace(
        lasts_on=lambda index, phases: True, look_up=list, callers=lambda index, phase: [(index, "loop")]
    )

    def placed(heartbeat: int, index: int, kind: Any, phases: tuple[int, ...], pct: float, **_: bool) -> PlacedSite:
        no = refusal if kind == "body" else None
        return PlacedSite(
            1, "clean", phases, "clean", kind, None, None, None, "app.py", 1, pct, UNKNOWN_RATE, refusal=no
        )

    planner._try = placed
    in_python, compiled = (planner._counted(1, index, "loop", (0,), 90.0) for index in (0, 1))
    assert (compiled.kind, compiled.refusal) == ("loop", None)  # Its loop thins itself as it runs.
    assert (in_python.kind, in_python.refusal is None) == (("body", True) if refusal is None else ("loop", False))
    assert not planner._uncounted
    # Neither where it calls what was refused, and stands for it.
    planner._result = SimpleNamespace(phases=[SimpleNamespace(id=0)])
    callee = SimpleNamespace(recorded="clean.<genexpr>")
    callers = [planner._callers([], {(0, index, "body"): callee}) for index in (0, 1)]
    assert [[site.kind for site in found] for found in callers] == [["body"] * (refusal is None), ["loop"]]
