"""Find the debug information of a stripped file: by build-id, beside it, and on debuginfod's servers.

A file names its debug file in `.gnu_debuglink`, with a checksum of it: it lies beside the program, in `.debug` there,
or below `/usr/lib/debug` at the program's path. Servers are queried only if `DEBUGINFOD_URLS` names some.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from incprof.errors import NoDataError
from incprof.safe.atomic import replacing
from incprof.safe.inputs import open_input
from incprof.symbols.elf.file import ElfFile, text_at

ROOTS = (Path("/usr/lib/debug"), Path("/usr/local/lib/debug"))
SERVERS, TIMEOUT = "DEBUGINFOD_URLS", "DEBUGINFOD_TIMEOUT"
SCHEMES = ("http://", "https://", "file://")
# Timeout for a silent server, as in debuginfod's own clients; and how long until it is queried again.
PATIENCE_S, AGAIN_S = 90.0, 600
LARGEST = 8 << 30
PIECE = 1 << 20

# Servers that could not be reached: they are not queried for the next file.
_unreachable: set[str] = set()


def installed(build_id: str) -> list[Path]:
    """Return debug files by build-id, from the directories of distributions and of debuginfod's clients."""
    if len(build_id) < 3:
        return []
    name = Path(build_id[:2]) / f"{build_id[2:]}.debug"
    return [*(root / ".build-id" / name for root in ROOTS), _downloaded(build_id)]


def linked(elf: ElfFile) -> Iterator[Path]:
    """Yield debug files that a file names, and whose checksum matches."""
    try:
        section = elf.section(".gnu_debuglink")
        data = elf.contents(section) if section is not None else b""
    except NoDataError:
        return
    name = text_at(data, 0)
    if len(data) < 8 or not name or "/" in name:
        return
    checksum, real = int.from_bytes(data[-4:], "little"), os.path.realpath(elf.path)
    for home in dict.fromkeys((Path(elf.path).absolute().parent, Path(real).parent)):
        for place in (home, home / ".debug", *(root / home.relative_to("/") for root in ROOTS)):
            path = place / name
            if os.path.realpath(path) != real and _checksum(path) == checksum:
                yield path


def fetched(build_id: str) -> Path | None:
    """Return the debug file of a build from the servers in DEBUGINFOD_URLS; None if there is no server or no file."""
    urls = [url for url in os.environ.get(SERVERS, "").split() if url.startswith(SCHEMES) and url not in _unreachable]
    target = _downloaded(build_id)
    if not urls or _is_missing(target):
        return None
    for url in urls:
        if _fetch(f"{url.rstrip('/')}/buildid/{build_id}/debuginfo", url, target):
            return target
    if not _unreachable.intersection(urls):
        _remember_as_missing(target)
    return None


def _downloaded(build_id: str) -> Path:
    """Return where debuginfod's clients store downloads."""
    given = os.environ.get("DEBUGINFOD_CACHE_PATH")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return (Path(given) if given else Path(base) / "debuginfod_client") / build_id / "debuginfo"


def _checksum(path: Path) -> int | None:
    """Return the checksum of a file; None if it does not exist."""
    crc = 0
    try:
        with open_input(path) as file:
            while data := file.read(PIECE):
                crc = zlib.crc32(data, crc)
    except OSError:
        return None
    return crc


def _is_missing(target: Path) -> bool:
    """Return whether servers recently lacked it: an empty file records this."""
    try:
        found = target.stat()
    except OSError:
        return False
    return found.st_size == 0 and time.time() - found.st_mtime < AGAIN_S


def _remember_as_missing(target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"")
    except OSError:
        return


def _fetch(url: str, server: str, target: Path) -> bool:
    """Download a file, if it exists."""
    from urllib.error import HTTPError  # imported here, because few runs need them
    from urllib.request import urlopen

    try:
        patience = float(os.environ.get(TIMEOUT) or PATIENCE_S)
        with urlopen(url, timeout=patience) as answer:
            target.parent.mkdir(parents=True, exist_ok=True)
            with replacing(target) as file:
                left = LARGEST
                while left > 0 and (data := answer.read(min(PIECE, left))):
                    file.write(data)
                    left -= len(data)
    except HTTPError:
        return False
    except (OSError, ValueError):
        if not url.startswith("file:"):
            _unreachable.add(server)
        return False
    return True
