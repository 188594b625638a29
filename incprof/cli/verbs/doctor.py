"""Check whether this machine can record, and how well; with --roofline, measure what its processors and memory can do.

Exit status 0 if recording works, 1 if not. A line marked `-` costs a feature, one marked `FAIL` the recording.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from incprof.study.readiness import findings

NAME = "doctor"
SCHEMA = "incprof.doctor/1"
MARKS = {"ok": "ok", "lacking": "-", "fail": "FAIL"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "python", nargs="?", help="the Python whose functions are to be recorded (default: python3 in PATH)"
    )
    parser.add_argument(
        "--roofline", action="store_true",
        help="measure operations and memory traffic per second for some seconds, and keep both for phases --card",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run every probe, and print the findings; or measure the roof."""
    if args.roofline:
        return roofline(as_json=args.json)
    found = list(findings(args.python))
    failed = [finding for finding in found if finding.state == "fail"]
    if args.json:
        answer = {"schema": SCHEMA, "usable": not failed, "findings": [asdict(finding) for finding in found]}
        print(json.dumps(answer, indent=1))
    else:
        width = max(len(finding.name) for finding in found)
        for finding in found:
            print(f"{MARKS[finding.state]:4}  {finding.name:{width}}  {finding.text}")
        print("recording works" if not failed else f"recording cannot work: {failed[0].name}: {failed[0].text}")
    return 1 if failed else 0


def roofline(*, as_json: bool) -> int:
    """Measure the ceilings of this node, keep them, and print them."""
    from incprof.command.terminal import warn
    from incprof.systems.counters import roofline

    found = roofline.measure()
    if (why := roofline.keep(found)) is not None:
        warn([f"not kept: {why}"])
    if as_json:
        print(json.dumps({"schema": SCHEMA, "roofline": roofline.as_json(found)}, indent=1))
        return 0
    lines = roofline.lines(found)
    width = max(len(head) for head, _ in lines)
    for head, text in lines:
        print(f"{head:{width}}  {text}")
    return 0
