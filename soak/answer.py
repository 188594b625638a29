"""Runs a command of incprof in this process, and says what is wrong with what it has answered."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from incprof.cli import main
from soak.capture import Capture
from soak.limits import LIMIT_CPU_S, cpu_used, limits
from soak.readers import READERS, read

STATUSES = range(6)  # done, failure, usage, gate, no data, partial data
MOST_LINES, LONGEST_LINE = 12, 8192  # on stderr
# What sets text, and does nothing else.
LAYOUT = re.compile("[\n\t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
# What is written as it is: files for other programs, and patches, which hold the bytes of the user's source.
RAW = {"gprof", "parquet", "instrument"}


@dataclass(frozen=True)
class Answer:
    """status: negative: the process was ended by this signal. cpu_s: user and system time."""

    words: tuple[str, ...]
    status: int
    out: bytes = b""
    err: bytes = b""
    cpu_s: float = 0.0


def carry_out(words: Sequence[str]) -> int:
    """Run a reader, or a command line."""
    return read(words) if words[0] in READERS else main(list(words))


def run_limited(words: Sequence[str], size: int, capture: Capture) -> Answer:
    """Run a command within the limits for an input of so many bytes. The process may be ended by them."""
    before = cpu_used()
    try:
        with limits(size):
            status = carry_out(words)
    except BaseException as error:
        status = 255
        print(f"Traceback: {type(error).__name__}: {str(error)!a}", file=sys.stderr)
    return Answer(tuple(words), status, *capture.take(), cpu_used() - before)


def _unprintable(text: bytes) -> str:
    """What in a text is not for a terminal."""
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"no UTF-8: {text[max(error.start - 20, 0) : error.start + 20]!r}"
    bare = LAYOUT.sub("", decoded)
    return "" if bare.isprintable() else ascii(next(c for c in bare if not c.isprintable()))


def _json_trouble(answer: Answer) -> str:
    def refuse(word: str) -> float:
        raise ValueError(f"{word} is no JSON")

    try:
        value = json.loads(answer.out, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        return f"stdout is no JSON: {error}"
    return "" if isinstance(value, dict) and isinstance(value.get("schema"), str) else "no schema in the JSON"


def _said(answer: Answer) -> list[str]:
    """What is wrong with stderr."""
    said = answer.err.decode("utf-8", "replace")
    lines = said.splitlines()
    found = []
    for pattern in ("Traceback", "internal error", "not enough memory", r"\b[A-Z]\w*Warning\b"):
        found += [line for line in lines if re.search(pattern, line)][:1]
    if len(lines) > MOST_LINES or any(len(line) > LONGEST_LINE for line in lines):
        found.append(f"{len(lines)} lines on stderr, the longest of {max(map(len, lines))}")
    if answer.status not in (0, 3) and not lines and not answer.out:
        found.append(f"status {answer.status} without a word")
    return found


def troubles(answer: Answer) -> list[str]:
    """What is wrong with an answer, in words; nothing, if all is well."""
    if answer.status < 0:
        return [f"ended by signal {-answer.status}"]
    found = _said(answer)
    if not found and answer.status not in STATUSES:
        found.append(f"status {answer.status}")
    if answer.cpu_s > LIMIT_CPU_S:
        found.append(f"more than {LIMIT_CPU_S} s")
    if odd := _unprintable(answer.err):
        found.append(f"stderr is not printable: {odd}")
    if not RAW & set(answer.words) and (odd := _unprintable(answer.out)):
        found.append(f"stdout is not printable: {odd}")
    if "--json" in answer.words and answer.status in (0, 5):
        found += filter(None, [_json_trouble(answer)])
    return found
