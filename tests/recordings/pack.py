"""Make a recording small enough to be kept: `python tests/recordings/pack.py RUN-DIR OUT.tar.xz`.

What belongs to the machine (paths, host, arguments) is replaced; debug sections and answers that lie beside the run are
left out, unless the program itself is kept with it. Symbols, samples and calls stay as they are, and the same run gives
the same bytes.
"""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

HEADER = struct.Struct("<4sIBBHII")
METADATA, MODULES = 1, 5
PLACE, LIBRARIES = "/src", "/src/lib"


def main(words: list[str]) -> int:
    """Write the archive."""
    pack(Path(words[0]), Path(words[1]))
    return 0


def pack(
    run: Path,
    target: Path,
    *,
    program: Path | None = None,
    beats: Sequence[Path] = (),
    others: Mapping[str, bytes] | None = None,
) -> None:
    """Write the archive.

    program: what was recorded, to be kept with its lines. beats: heartbeats of the process, and of another.
    others: what else is to be kept.
    """
    members = {"launch": b"process 1@1\n"}
    for number, directory in enumerate(beats, 1):
        (file,) = directory.glob("*.ekg")
        members[f"{directory.name}/launch"] = members["launch"]
        members[f"{directory.name}/{file.name}"] = beating(file, number)
    for stream in sorted(run.glob("rank-*.gmon")):
        members[stream.name] = changed(stream.read_bytes(), neutral)
    for symbols in sorted(run.glob("symbols/*.elf")):
        members[f"symbols/{symbols.name}"] = symbols.read_bytes() if program or beats else without_debug(symbols)
    if program:
        members[program.name] = program.read_bytes()
    members |= others or {}
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            entry.mode = 0o755 if program and name == program.name else 0o644
            archive.addfile(entry, io.BytesIO(data))


def changed(data: bytes, words: Callable[[Any], Any]) -> bytes:
    """The stream, with the same images and other words where it describes its machine."""
    out, at = bytearray(), 0
    while at < len(data):
        magic, version, kind, flags, module, length, number = HEADER.unpack_from(data, at)
        payload = data[at + HEADER.size : at + HEADER.size + length]
        at += HEADER.size + length
        if kind in (METADATA, MODULES):
            payload = json.dumps(words(json.loads(payload)), separators=(",", ":")).encode()
            flags = 0  # a sum of what it was
        out += HEADER.pack(magic, version, kind, flags, module, len(payload), number) + payload
    return bytes(out)


def neutral(found: Any) -> Any:
    """The same description of a program at `PLACE`, on no particular machine."""
    if isinstance(found, list):
        return [neutral(each) for each in found]
    app = found.get("app")
    process = {"host": "node", "pid": 1, "ppid": 1, "launch": "process 1@1"}
    # The two clocks of heartbeats and of a recording go on telling that they are of one process.
    process["start_unix_ns"] = found.get("start_mono_ns", 0)
    known = {"exe": f"{PLACE}/{app}", "cwd": PLACE, "argv": [app], **process}
    other = {key: known.get(key, value) for key, value in found.items()}
    if isinstance(found.get("modules"), list):
        other["modules"] = neutral(found["modules"])
    if "path" in found and not found["path"].startswith("["):
        # Another machine has other libraries, or none: none is read on any.
        folder = LIBRARIES if found["path"].startswith(("/lib", "/usr")) else PLACE
        other["path"] = f"{folder}/{Path(found['path']).name}"
    return other


def beating(file: Path, pid: int) -> bytes:
    """Heartbeats, with other words in the line that describes their machine."""
    head, rest = file.read_bytes().split(b"\n", 1)
    word, described = head.split(b" ", 1)
    process = {**neutral(json.loads(described)), "pid": pid}
    return b"%s %s\n%s" % (word, json.dumps(process, separators=(",", ":")).encode(), rest)


def placed(place: Path, start_ns: int) -> Callable[[Any], Any]:
    """What turns a neutral description into that of a program in a directory, which began at a time."""

    def here(found: Any) -> Any:
        if isinstance(found, list):
            return [here(each) for each in found]
        other = dict(found)
        for key in {"exe", "path"} & found.keys():
            if str(Path(found[key]).parent) == PLACE:
                other[key] = str(place / Path(found[key]).name)
        if "start_unix_ns" in found:
            other |= {"start_unix_ns": start_ns, "cwd": str(place)}
        if isinstance(found.get("modules"), list):
            other["modules"] = here(found["modules"])
        return other

    return here


def without_debug(symbols: Path) -> bytes:
    """The copy of the symbols, less what finds lines."""
    with tempfile.TemporaryDirectory() as place:
        stripped = Path(place) / "stripped"
        subprocess.run(["objcopy", "--strip-debug", symbols, stripped], check=True, capture_output=True)
        return stripped.read_bytes()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
