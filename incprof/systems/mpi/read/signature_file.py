"""A signature file, written by `incprof signature -o` (docs/use/signature.md)."""

from __future__ import annotations

import re
from typing import Any

from incprof.errors import NoDataError
from incprof.safe.inputs import read_input
from incprof.safe.jsontext import parse_json
from incprof.systems.mpi.signature_types import Grammar, Program, SignatureFile, SignaturePhase

SCHEMA = "incprof.signature/1"
MOST_BYTES = 1 << 28
METHODS = ("robust", "paper", "global")


def read_signature(path: str) -> SignatureFile:
    """Read a signature.

    Raises:
        NoDataError: it cannot be read, is not a signature, lacks data for a prediction, or holds impossible values.
    """
    try:
        raw = parse_json(read_input(path, MOST_BYTES))
    except OSError as error:
        raise NoDataError(f"{path}: {error.strerror}") from None
    except ValueError:
        raise NoDataError(f"{path}: not a signature: write one with incprof signature DIR -o {path}") from None
    if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
        raise NoDataError(f"{path}: not a signature of {SCHEMA}: write one with incprof signature DIR -o {path}")
    if raw.get("method") not in METHODS or "kinds" not in raw:
        raise NoDataError(f"{path}: no signature that can be run: write one with incprof signature DIR -o {path}")
    try:
        found = _signature(path, raw)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise NoDataError(f"{path}: damaged or edited: write it again with incprof signature DIR -o {path}") from None
    return found


def _signature(path: str, raw: dict[str, Any]) -> SignatureFile:
    grammar = _grammar(raw["loops"], len(raw["kinds"])) if raw["method"] == "robust" else None
    return SignatureFile(
        path=path,
        app=str(raw["app"]),
        method=str(raw["method"]),
        ranks=_whole(raw["ranks"], 1),
        rank=_whole(raw["rank"]),
        warm_up=_whole(raw["options"]["warm_up"]),
        aet_s=_amount(raw["aet_s"]),
        coverage=_amount(raw["coverage"]),
        until=None if raw["until"] is None else _whole(raw["until"], 1),
        until_calls=_ends(raw.get("until_calls"), raw["ranks"]),
        events=_whole(raw["events"]),
        until_events=_whole(raw["until_events"]),
        outside_after_s=max(_amount(raw["outside_after_s"]), 0.0),
        needed_events=_whole(raw["needed_events"]),
        kinds=tuple((str(kind["function"]).removeprefix("MPI_"), str(kind["key"])) for kind in raw["kinds"]),
        kind_bytes=tuple(None if kind["bytes"] is None else _amount(kind["bytes"]) for kind in raw["kinds"]),
        grammar=grammar,
        program=_program(raw["program"]),
        phases=tuple(_phase(phase, grammar) for phase in raw["phases"]),
    )


def _program(raw: dict[str, Any]) -> Program:
    return Program(
        arguments=tuple(map(str, raw["arguments"])),
        files={int(place): str(digest) for place, digest in raw["files"].items()},
        modules={str(name): str(build_id) for name, build_id in raw["modules"].items()},
    )


def _ends(raw: Any, ranks: int) -> tuple[tuple[str, int, int], ...] | None:
    """Return the calls after which ranks end. Raises: ValueError: their ranks are not those of the run."""
    if raw is None:
        return None
    ends = tuple((_function(name), _whole(calls, 1), _whole(count, 1)) for name, calls, count in raw)
    if sum(count for _, _, count in ends) != ranks:
        raise ValueError
    return ends


def _function(name: Any) -> str:
    """Return an MPI function without its prefix. Raises: ValueError: it is not one."""
    if not isinstance(name, str) or not re.fullmatch(r"MPI_\w{1,60}", name, re.ASCII):
        raise ValueError
    return name.removeprefix("MPI_")


def _grammar(raw: dict[str, Any], kinds: int) -> Grammar:
    """Return the grammar of loops. Raises: ValueError: a loop contains a later one, or a step has unequal lengths."""
    contents = [tuple(_whole(item) for item in content) for content in raw["contents"]]
    steps = [tuple(_whole(number) for number in step) for step in raw["steps"]]
    if any(not content or max(content) >= kinds + number for number, content in enumerate(contents)):
        raise ValueError
    if any(len({len(contents[number]) for number in step}) != 1 for step in steps):
        raise ValueError
    return Grammar(kinds, tuple(contents), tuple(steps))


def _phase(raw: dict[str, Any], grammar: Grammar | None) -> SignaturePhase:
    by_place = grammar is None
    times = tuple(_amount(one) for one in raw["time_s"])
    weight = _whole(raw["weight"], 1)
    if not times or len(times) > weight or any(one < 0 for one in times):
        raise ValueError
    at = tuple((_whole(first), _whole(end, first)) for first, end in raw["at"]) if by_place else ()
    if by_place and len(at) != len(times):
        raise ValueError
    loop = None if grammar is None else _whole(raw["loop"])
    if grammar is not None and raw["loop"] >= len(grammar.contents):
        raise ValueError
    return SignaturePhase(
        id=_whole(raw["id"]),
        loop=loop,
        whole=bool(raw["whole"]),
        weight=weight,
        awaited=bool(raw["awaited"]),
        mean_s=_amount(raw["mean_s"]),
        seconds=_amount(raw["seconds"]),
        time_s=times,
        at=at,
        file=raw["file"] if isinstance(raw["file"], str) else None,
        line=raw["line"] if isinstance(raw["line"], int) else None,
    )


def _whole(value: Any, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError
    return value


def _amount(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not -1e15 < value < 1e15:
        raise ValueError
    return float(value)
