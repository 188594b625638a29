"""Programs whose heartbeats go into collectors: builds them, runs them, waits for what they leave."""

from __future__ import annotations

import atexit
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TypeVar

import pytest

from appekg._flags import compile_flags, link_flags
from tests.integration.appekg_use import environment, installation, run

FIXTURES = Path(__file__).parent / "appekg_fixtures"
DEADLINE_S = 600.0
SAMPLE = re.compile(r'^(?P<metric>\w+)\{(?P<labels>(?:\w+="(?:[^"\\\n]|\\.)*",?)*)\} (?P<value>[\d.]+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

T = TypeVar("T")


@cache
def _scratch() -> Path:
    place = Path(mkdtemp(prefix="appekg-sinks-"))
    atexit.register(shutil.rmtree, place)
    return place


@cache
def host() -> Path:
    """The program of sink_host.c."""
    target = _scratch() / "sink_host"
    found = installation()
    flags = [*compile_flags(found), *link_flags(found)]
    run("gcc", "-O2", "-pthread", FIXTURES / "sink_host.c", "-o", target, *flags)
    return target


@cache
def standin(generation: int) -> Path:
    """Directory of a libldms of the generation: 45, 44 or 43 (ldms_standin.c)."""
    place = _scratch() / f"ldms-{generation}"
    place.mkdir()
    flags = ["-shared", "-fPIC", "-pthread", f"-DGENERATION={generation}"]
    library = place / "libldms.so.0"
    run("gcc", *flags, FIXTURES / "ldms_standin.c", "-Wl,-soname,libldms.so.0", "-o", library)
    if generation == 43:
        stream = place / "libldmsd_stream.so.0"
        run("gcc", *flags, FIXTURES / "ldmsd_stream_standin.c", library, "-o", stream)
    return place


def poll(look: Callable[[], T | None], what: str) -> T:
    """What `look` answers, once that is not None."""
    deadline = time.monotonic() + DEADLINE_S
    while (found := look()) is None:
        if time.monotonic() > deadline:
            pytest.fail(f"waited {DEADLINE_S:g} s for {what}")
        time.sleep(0.05)
    return found


@contextmanager
def running(command: Sequence[object], cwd: Path, **variables: object) -> Iterator[subprocess.Popen[str]]:
    """A program that is still running afterwards is killed."""
    process = subprocess.Popen(
        list(map(str, command)),
        cwd=cwd,
        env=environment(**variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Ends a program that waits for the end of its stdin: status, stdout, stderr."""
    stdout, stderr = process.communicate(timeout=DEADLINE_S)
    return process.returncode, stdout, stderr


def wait_until_it_stays(process: subprocess.Popen[str]) -> None:
    """Until `sink_host N stay` has had all its beats."""
    assert process.stdout is not None
    for line in process.stdout:
        if line == "stays\n":
            return
    pytest.fail("the program has ended")


def unescape(text: str) -> str:
    """A label's value as it was before it was escaped."""
    return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), text)


def samples(text: str) -> dict[tuple[str, str], tuple[str, dict[str, str]]]:
    """Value and labels by metric and id ("" without one) of one process's file. Every line must be understood."""
    found = {}
    for line in text.splitlines():
        if line.startswith("# "):
            continue
        sample = SAMPLE.match(line)
        assert sample is not None, line
        labels = {key: unescape(value) for key, value in LABEL.findall(sample["labels"])}
        key = (sample["metric"], labels.get("id", ""))
        assert key not in found
        found[key] = (sample["value"], labels)
    return found
