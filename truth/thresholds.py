"""What each threshold wins: the method without it, on generated runs of the half for tuning. Writes docs/thresholds.md.

Usage: python -m truth.thresholds [--page]

With --page, the page is written anew from what was measured last. The half that is held out is not looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from incprof.analysis.options import OPTIONS  # noqa: E402
from incprof.analysis.options.thresholds import Threshold  # noqa: E402
from incprof.analysis.scores.sites import Matches  # noqa: E402
from truth.answers import of_tool  # noqa: E402
from truth.cases import all_names, make_case  # noqa: E402
from truth.evaluate import Outcome, evaluate  # noqa: E402
from truth.places import HERE  # noqa: E402
from truth.split import TUNE  # noqa: E402

PAGE, MEASURED = HERE.parent / "docs" / "thresholds.md", HERE / "thresholds.json"
COLUMNS = ("name", "default", "unit", "what it rests on", "without")
ROOMS = {"phases": "Phases", "sites": "Sites", "steps": "Steps"}


def score(settings: tuple[str, ...]) -> dict[str, float]:
    """Score the method with some thresholds changed."""
    method = partial(of_tool, method="robust", options=OPTIONS.with_settings(settings))
    found: list[Outcome] = []
    for family, number in all_names(TUNE):
        case = make_case(family, number)
        found.append(evaluate(case.name, family, case.split, case.profile, case.labels, case.truth, "robust", method))
    none = Matches(0, 0, 0, 0)
    return {
        "runs": len(found),
        "right": sum(one.k_right for one in found),
        "sites": round(sum((one.sites.functions for one in found), none).f1, 4),
        "steps": round(sum((one.steps for one in found), none).f1, 4),
    }


def measure() -> dict[str, dict[str, float]]:
    """Score the method as it is, under "", and without each of the thresholds that it can be without."""
    asked = [""] + [f"{room}.{t.name}={t.without!r}" for room, t in OPTIONS.listed() if t.without is not None]
    out = {}
    with ProcessPoolExecutor() as pool:
        for setting, found in zip(asked, pool.map(score, [(one,) if one else () for one in asked]), strict=True):
            print(f"{setting or 'as it is'}: {found}", file=sys.stderr, flush=True)
            out[setting.partition("=")[0]] = found
    return out


def page(measured: dict[str, dict[str, float]]) -> str:
    """Return docs/thresholds.md."""
    usual = measured[""]
    head = (HERE / "thresholds.md").read_text()
    lines = [head.format(**{key: int(n) if key in ("runs", "right") else n for key, n in usual.items()})]
    for room, title in ROOMS.items():
        lines += [
            "",
            f"## {title}",
            "",
            "| name | default | unit | what it rests on | without |",
            "|---|---|---|---|---|",
        ]
        lines += [_row(room, one, measured, usual) for of, one in OPTIONS.listed() if of == room]
    return "\n".join(lines) + "\n"


def _row(room: str, one: Threshold, measured: dict[str, dict[str, float]], usual: dict[str, float]) -> str:
    """Return the row of a threshold."""
    without = measured.get(f"{room}.{one.name}")
    said = "-"
    if without is not None:
        parts = [f"{without['right'] - usual['right']:+g} runs"] if without["right"] != usual["right"] else []
        changed = [key for key in ("sites", "steps") if without[key] != usual[key]]
        said = ", ".join(parts + [f"{key} {without[key] - usual[key]:+.3f}" for key in changed]) or "nothing here"
    return f"| `{room}.{one.name}` | {one.default:g} | {one.unit} | {one.evidence} | {said} |"


def main() -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m truth.thresholds", description=__doc__.splitlines()[0])
    parser.add_argument("--page", action="store_true", help="write the page from what was measured last")
    if not parser.parse_args().page:
        MEASURED.write_text(json.dumps(measure(), indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page(json.loads(MEASURED.read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
