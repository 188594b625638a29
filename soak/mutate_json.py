"""Damage to JSON that keeps it valid JSON: values of other types and sizes, missing and additional keys."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence
from typing import Any

from soak.mutate import TEXT, mutate

HOSTILE_TEXTS = (
    "", "\0", "a\0b", "\ud800", "\udcff\udc80", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\u202eabc", "\u2066",
    "\x9b2J", "a\nb", "a\r\nincprof: b", "/", "//", ".", "..", "../../etc/passwd", "/dev/zero", "/proc/self/mem",
    "/dev/stdin", "-", "--help", "=cmd|' /C calc'!A0", "%s%s%s%n", "x" * 300, "\u00e4" * 5000,
    "<script>alert(1)</script>", "'; drop table runs; --", "nan", "0x", "0xffffffffffffffffffff", "-0x1",
    "0x10000000000000000", "_Z" * 400, "_ZN" + "1a" * 500 + "E", "_Z1fIXLi1EEEvv", "$(reboot)", "\uff10", "\ufeff",
    "\u0000\u0000", "a:b", "a;b", "[x](y)",
)  # fmt: skip
HOSTILE_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 0.5, -0.0, 1e308, -1e308, 5e-324, 2**31, 2**32, 2**53 + 1, 2**63, 2**64, -(2**63),
    10**400, float("nan"), float("inf"), float("-inf"), [], {}, [[]], [None], {"": {}}, [0] * 300, "",
)  # fmt: skip


def deep(levels: int) -> Any:
    """Return nested lists."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def hostile_value(dice: random.Random) -> Any:
    """Return a value of any type."""
    kind = dice.random()
    if kind < 0.45:
        return copy.deepcopy(dice.choice(HOSTILE_VALUES))
    if kind < 0.9:
        return dice.choice(HOSTILE_TEXTS)
    return deep(dice.choice((5, 100, 900)))


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) in a value."""
    found = []
    stack = [value]
    while stack:
        inner = stack.pop()
        keys = list(inner) if isinstance(inner, dict) else range(len(inner)) if isinstance(inner, list) else ()
        for key in keys:
            found.append((inner, key))
            stack.append(inner[key])
    return found


def _change(dice: random.Random, container: Any, key: Any, others: Sequence[tuple[Any, Any]]) -> None:
    match dice.randrange(8):
        case 0:
            del container[key]
        case 1:
            other, where = dice.choice(others)
            if where in other if isinstance(other, dict) else where < len(other):
                container[key] = copy.deepcopy(other[where])
        case 2 if isinstance(container, dict):
            container[dice.choice(HOSTILE_TEXTS)] = container.pop(key)
        case 3 if isinstance(container, list):
            container[key:key] = [container[key]] * dice.choice((1, 2, 50))
        case 4 if isinstance(container[key], str):
            text = container[key]
            at = dice.randrange(len(text) + 1)
            container[key] = text[:at] + dice.choice(HOSTILE_TEXTS) + text[at:]
        case 5 if isinstance(container[key], int | float):
            container[key] = container[key] * dice.choice((-1, 0.5, 2, 1000, 10**12)) + dice.choice((0, 1, -1))
        case _:
            container[key] = hostile_value(dice)


def mutate_json(dice: random.Random, value: Any) -> Any:
    """Return a damaged copy of a value."""
    value = copy.deepcopy(value)
    for _ in range(dice.choice((1, 1, 2, 5))):
        found = places(value)
        if not found or dice.random() < 0.02:
            return hostile_value(dice)
        container, key = dice.choice(found)
        try:
            _change(dice, container, key, found)
        except (OverflowError, IndexError, RecursionError):
            container[key] = hostile_value(dice)
    return value


def json_bytes(dice: random.Random, value: Any) -> bytes:
    """Encode a value in a random style. Lone surrogates become escapes or the bytes that would encode them."""
    plain = json.dumps(value, ensure_ascii=dice.random() < 0.6, indent=dice.choice((None, None, 1)))
    return plain.encode("utf-8", "surrogatepass")


def mutate_json_text(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Damage a JSON file: its values, sometimes its text."""
    if dice.random() < 0.75:
        try:
            return json_bytes(dice, mutate_json(dice, json.loads(data)))
        except (ValueError, RecursionError):
            pass
    return mutate(dice, data, others, TEXT)


def mutate_json_lines(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Damage a file with a JSON object in each line."""
    lines = data.split(b"\n")
    for _ in range(dice.choice((1, 1, 3))):
        at = dice.randrange(len(lines))
        try:
            lines[at] = json.dumps(mutate_json(dice, json.loads(lines[at]))).encode()
        except (ValueError, RecursionError):
            continue
    data = b"\n".join(lines)
    return mutate(dice, data, others, TEXT) if dice.random() < 0.4 else data
