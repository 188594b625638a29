"""Which sites a phase gets in place of those that were refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from incprof.study.sites.affordable import SitePlanner
from incprof.study.study import Study
from tests.unit.streamwriter import Sample, StreamWriter


def test_what_one_phase_refuses_is_left_to_the_others(tmp_path: Path) -> None:
    writer = StreamWriter(["main", "solve", "io"])
    for i in range(24):
        what = "solve" if i < 12 else "io"
        writer.interval([Sample(f"main;{what}", weight=100)], arcs={("main", what): 50})
    writer.end()
    study = Study(str(writer.save(tmp_path / "run")))
    result, number = study.model, {f.name: i for i, f in enumerate(study.profile.functions)}
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
