"""Make a recording small enough to be kept: `python tests/recordings/pack.py RUN-DIR OUT.tar.xz`.

What belongs to the machine (paths, host, arguments) is replaced; debug sections and answers that lie beside the run are
left out. Symbols, samples and calls stay as they are, and the same run gives the same bytes.
"""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

HEADER = struct.Struct("<4sIBBHII")
METADATA, MODULES = 1, 5
PLACE = "/src"


def main(words: list[str]) -> int:
    """Write the archive."""
    run, target = Path(words[0]), Path(words[1])
    members = {"launch": b"process 1@1\n"}
    for stream in sorted(run.glob("rank-*.gmon")):
        members[stream.name] = anonymous(stream.read_bytes())
    for symbols in sorted(run.glob("symbols/*.elf")):
        members[f"symbols/{symbols.name}"] = without_debug(symbols)
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return 0


def anonymous(data: bytes) -> bytes:
    """The stream, with the same images and other words where it describes its machine."""
    out, at = bytearray(), 0
    while at < len(data):
        magic, version, kind, flags, module, length, number = HEADER.unpack_from(data, at)
        payload = data[at + HEADER.size : at + HEADER.size + length]
        at += HEADER.size + length
        if kind in (METADATA, MODULES):
            payload = json.dumps(neutral(json.loads(payload)), separators=(",", ":")).encode()
        out += HEADER.pack(magic, version, kind, flags, module, len(payload), number) + payload
    return bytes(out)


def neutral(found: Any) -> Any:
    """The same description of a program at `PLACE`, on no particular machine."""
    if isinstance(found, list):
        return [neutral(each) for each in found]
    app = found.get("app")
    process = {"host": "node", "pid": 1, "ppid": 1, "launch": "process 1@1", "start_unix_ns": 0}
    known = {"exe": f"{PLACE}/{app}", "cwd": PLACE, "argv": [app], **process}
    changed = {key: known.get(key, value) for key, value in found.items()}
    if isinstance(found.get("modules"), list):
        changed["modules"] = neutral(found["modules"])
    if "path" in found and not found["path"].startswith(("/lib", "/usr", "[")):
        changed["path"] = f"{PLACE}/{Path(found['path']).name}"
    return changed


def without_debug(symbols: Path) -> bytes:
    """The copy of the symbols, less what finds lines."""
    with tempfile.TemporaryDirectory() as place:
        stripped = Path(place) / "stripped"
        subprocess.run(["objcopy", "--strip-debug", symbols, stripped], check=True, capture_output=True)
        return stripped.read_bytes()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
