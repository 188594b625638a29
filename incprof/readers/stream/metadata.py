"""The metadata object of a recording, checked (docs/formats.md, kind 1)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from incprof.errors import IncprofError, NoDataError
from incprof.jsontext import parse_json
from incprof.model import Code, Metadata, Module
from incprof.readers.stream.program_name import program_name

DEFAULT_INTERVAL_S, DEFAULT_RATE_HZ = 1.0, 100.0
MAX_MODULES = 65534
MOST_CALL_PS = 10**6
# With a line of JSON for each of so many modules.
MOST_BYTES = 64 << 20
# Of the formats: a later one may mean something else by the same bytes.
VERSION = 1
MAP = re.compile(r"perf-\d{1,10}\.map", re.ASCII)


def parse_metadata(text: bytes, where: str) -> Metadata:
    """Metadata from JSON text; `where` names the file in messages.

    Raises: NoDataError when it is no JSON object or a figure in it makes no sense; IncprofError when a later version
    wrote it.
    """
    raw = _load(text, where)
    if not isinstance(raw, dict):
        raise NoDataError(f"{where}: the metadata is no JSON object: record the program again")
    version = _integer(raw.get("version"))
    if version is not None and version > VERSION:
        raise IncprofError(f"{where}: format version {version} is newer than this incprof's ({VERSION}): update it")
    exe = raw.get("exe")
    return Metadata(
        app=_app(raw, str(exe) if exe else None),
        exe=str(exe) if exe else None,
        rank=_integer(raw.get("rank")) or 0,
        ranks=_integer(raw.get("ranks")),
        interval_s=_positive(raw, "interval_s", DEFAULT_INTERVAL_S, where),
        rate_hz=_positive(raw, "rate_hz", DEFAULT_RATE_HZ, where),
        modules=_modules(raw.get("modules"), exe, raw.get("build_id")),
        raw=raw,
        call_s=_call_s(raw.get("call_ps")),
        ordered=bool(raw.get("ordered", True)),
    )


def _app(raw: dict[str, Any], exe: str | None) -> str:
    """The program's name: its file's is what the collector writes, as it was started is what people call it."""
    app = str(raw.get("app") or (Path(exe).name if exe else "app"))
    argv = raw.get("argv")
    if exe is None or app != Path(exe).name or not isinstance(argv, list):
        return app
    return program_name(exe, [str(word) for word in argv])


def parse_modules(text: bytes, where: str) -> tuple[Module, ...]:
    """Modules of a kind-5 image.

    Raises: NoDataError when it is no JSON.
    """
    return _modules(_load(text, where))


def _load(text: bytes, where: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise NoDataError(f"{where}: the metadata is damaged: record the program again") from error


def _modules(items: object, exe: object = None, build_id: object = None) -> tuple[Module, ...]:
    """Modules by id; objects that make no sense are left out. Without any, the executable is module 0."""
    found: dict[int, Module] = {}
    for item in items if isinstance(items, Iterable) and not isinstance(items, str | bytes | dict) else ():
        if isinstance(item, dict) and (module := _module(item)) is not None:
            found.setdefault(module.id, module)
    if not found and exe:
        found[0] = Module(0, str(exe), str(build_id) if build_id else None, 0, 0, True)
    return tuple(found[key] for key in sorted(found))


def _call_s(picoseconds: object) -> float | None:
    """Seconds that counting a call takes; None for what no processor takes."""
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
    """The name of a perf map; it comes from the recording, and must not lead anywhere else."""
    return name if isinstance(name, str) and MAP.fullmatch(name) else None


def _code(item: dict[str, Any]) -> Code | None:
    """The function that a module is, if it is one."""
    name, line, version, table = (item.get(key) for key in ("function", "line", "python", "lines"))
    if not isinstance(name, str) or not name:
        return None
    try:
        known = bytes.fromhex(table) if isinstance(table, str) else b""
    except ValueError:
        known = b""
    return Code(name, _integer(line) or 0, _integer(version) or 0, known)


def _address(value: object) -> int:
    """An address written as a number or a hexadecimal string; 0 when it is neither."""
    try:
        return int(value, 16) if isinstance(value, str) else _integer(value) or 0
    except ValueError:
        return 0


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _positive(raw: dict[str, Any], key: str, default: float, where: str) -> float:
    """A positive finite number, or the default when the key is missing."""
    value = raw.get(key, default)
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    if not usable or not 0 < value < 1e12 or not math.isfinite(value):
        shown = repr(value)[:40]
        raise NoDataError(f"{where}: {key} is {shown}, not a positive number: record the program again")
    return float(value)
