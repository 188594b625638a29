"""The metadata object of a recording, checked (docs/reference/formats.md, kind 1)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from incprof.errors import IncprofError, NoDataError
from incprof.model import Code, Metadata, Module
from incprof.safe.jsontext import parse_json
from incprof.symbols.elf.program_name import program_name, script_name

DEFAULT_INTERVAL_S, DEFAULT_RATE_HZ = 1.0, 100.0
MAX_MODULES = 65534
MOST_CALL_PS = 10**6
# Enough for a line of JSON for each of MAX_MODULES modules.
MOST_BYTES = 64 << 20
# Newest supported version: a later one may give the same bytes another meaning.
VERSION = 1
MAP = re.compile(r"perf-\d{1,10}\.map", re.ASCII)


def parse_metadata(text: bytes, where: str) -> Metadata:
    """Parse metadata from JSON text; `where` names the file in messages.

    Raises: NoDataError if it is not a JSON object or contains an invalid number; IncprofError if a later version wrote
    it.
    """
    raw = _load(text, where)
    if not isinstance(raw, dict):
        raise NoDataError(f"{where}: the metadata is no JSON object: record the program again")
    version = _integer(raw.get("version"))
    if version is not None and version > VERSION:
        raise IncprofError(f"{where}: format version {version} is newer than this incprof's ({VERSION}): update it")
    exe = raw.get("exe")
    app = str(raw.get("app") or (Path(exe).name if isinstance(exe, str) and exe else "app"))
    return Metadata(
        app=app,
        exe=str(exe) if exe else None,
        rank=_integer(raw.get("rank")) or 0,
        ranks=_integer(raw.get("ranks")),
        interval_s=_positive(raw, "interval_s", DEFAULT_INTERVAL_S, where),
        rate_hz=_positive(raw, "rate_hz", DEFAULT_RATE_HZ, where),
        modules=_as_started(_modules(raw.get("modules"), exe, raw.get("build_id")), app, exe, raw.get("argv")),
        raw=raw,
        call_s=_call_s(raw.get("call_ps")),
        ordered=bool(raw.get("ordered", True)),
    )


def _as_started(modules: tuple[Module, ...], app: str, exe: object, argv: object) -> tuple[Module, ...]:
    """Set the name by which the program's file was started: `redis-server` is a link to `redis-check-rdb`."""
    if not isinstance(exe, str) or not isinstance(argv, list):
        return modules
    words = [word for word in argv if isinstance(word, str)]
    if script_name(exe, words) or program_name(exe, words) != app:
        return modules
    return tuple(replace(m, started=app) if m.id == 0 and m.path == exe else m for m in modules)


def parse_modules(text: bytes, where: str) -> tuple[Module, ...]:
    """Return the modules of a kind-5 image.

    Raises: NoDataError if it is not JSON.
    """
    return _modules(_load(text, where))


def _load(text: bytes, where: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise NoDataError(f"{where}: the metadata is damaged: record the program again") from error


def _modules(items: object, exe: object = None, build_id: object = None) -> tuple[Module, ...]:
    """Return modules by id; invalid objects are left out. If there are none, the executable is module 0."""
    found: dict[int, Module] = {}
    for item in items if isinstance(items, Iterable) and not isinstance(items, str | bytes | dict) else ():
        if isinstance(item, dict) and (module := _module(item)) is not None:
            found.setdefault(module.id, module)
    if not found and exe:
        found[0] = Module(0, str(exe), str(build_id) if build_id else None, 0, 0, True)
    return tuple(found[key] for key in sorted(found))


def _call_s(picoseconds: object) -> float | None:
    """Return the cost of counting a call, seconds; None if the value is implausible."""
    known = _integer(picoseconds)
    return known * 1e-12 if known is not None and 0 < known <= MOST_CALL_PS else None


def _module(item: dict[str, Any]) -> Module | None:
    number, path = _integer(item.get("id")), item.get("path")
    if number is None or not 0 <= number < MAX_MODULES or not isinstance(path, str):
        return None
    build_id = item.get("build_id")
    low, high = _address(item.get("low")), _address(item.get("high"))
    app, counts = bool(item.get("app", True)), bool(item.get("counts", True))
    imports = item.get("imports")
    called = {_address(at): str(name) for at, name in imports.items()} if isinstance(imports, dict) else {}
    known = str(build_id) if build_id else None
    return Module(number, path, known, low, high, app, counts, called, _code(item), _map(item.get("map")))


def _map(name: object) -> str | None:
    """Return the name of a perf map; it comes from the recording, and must not lead to another directory."""
    return name if isinstance(name, str) and MAP.fullmatch(name) else None


def _code(item: dict[str, Any]) -> Code | None:
    """Return the function that a module is, if it is one."""
    name, line, version, table = (item.get(key) for key in ("function", "line", "python", "lines"))
    if not isinstance(name, str) or not name:
        return None
    try:
        known = bytes.fromhex(table) if isinstance(table, str) else b""
    except ValueError:
        known = b""
    return Code(name, _integer(line) or 0, _integer(version) or 0, known)


def _address(value: object) -> int:
    """Parse an address written as a number or a hexadecimal string; 0 if it is neither."""
    try:
        return int(value, 16) if isinstance(value, str) else _integer(value) or 0
    except ValueError:
        return 0


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _positive(raw: dict[str, Any], key: str, default: float, where: str) -> float:
    """Return a positive finite number, or the default if the key is missing."""
    value = raw.get(key, default)
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    if not usable or not 0 < value < 1e12 or not math.isfinite(value):
        shown = repr(value)[:40]
        raise NoDataError(f"{where}: {key} is {shown}, not a positive number: record the program again")
    return float(value)
