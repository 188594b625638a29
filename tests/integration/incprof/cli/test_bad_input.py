"""Whatever lies in a run directory, the command line answers in one line and with the right exit code."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from incprof.errors import NoDataError
from incprof.readers.run import open_run, read_profile
from tests.integration.collector import run, variables
from tests.integration.command_line import incprof
from tests.integration.hosts import BuildHost, need, raw_images
from tests.recordings.kept import kept

OK, FAILURE, NO_DATA, PARTIAL = 0, 1, 4, 5
STREAM = "rank-00000.gmon"


@pytest.fixture(scope="module")
def program(host: BuildHost) -> Path:
    return host("phases.c")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory with nothing wrong in it; a recording that is kept, whose intervals all have samples."""
    return kept("hosts-phases", tmp_path_factory.mktemp("hosts")).run


@pytest.fixture
def copy(good: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoiled."""
    return Path(shutil.copytree(good, tmp_path / "run"))


def answers(status: int, *words: str | Path) -> str:
    """Run a verb: the exit code is `status`, stderr has one line at most for each message, and no traceback."""
    done = incprof(*words)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    if status not in (OK, PARTIAL):
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert done.stdout == ""
    if status == PARTIAL:
        assert done.stderr.strip(), "nothing was said"
    return done.stderr


def phases(status: int, directory: Path) -> str:
    """`phases` reports what can be used; `export`, in every other test, runs the same code."""
    return answers(status, "phases", directory, "--json")


def export(status: int, directory: Path) -> str:
    """The same for `export`, which starts faster."""
    return answers(status, "export", directory, "--format", "csv")


def test_good_run(good: Path) -> None:
    assert phases(OK, good) == ""


def test_missing_empty_and_not_a_directory(tmp_path: Path) -> None:
    assert str(tmp_path / "missing") in phases(NO_DATA, tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    assert str(tmp_path / "empty") in phases(NO_DATA, tmp_path / "empty")
    (tmp_path / "file").write_text("hello")
    assert str(tmp_path / "file") in export(NO_DATA, tmp_path / "file")


@pytest.mark.parametrize("content", [b"", b"gmon", b"\x7fELF" + bytes(1000), b"hello world\n" * 100, bytes(5000)])
def test_no_stream(tmp_path: Path, content: bytes) -> None:
    (tmp_path / STREAM).write_bytes(content)
    phases(NO_DATA, tmp_path)


@pytest.mark.slow
def test_cut_at_and_inside_every_image(good: Path, copy: Path) -> None:
    """At a boundary after an interval: fine, the run was killed. Inside an image: the interval is dropped. Before the
    first interval: nothing to show."""
    data = (good / STREAM).read_bytes()
    images = raw_images(data)
    complete = 0
    for image in images:
        for end in (image.start, image.start + 7, (image.start + image.end) // 2, image.end - 1):
            (copy / STREAM).write_bytes(data[:end])
            if not complete:
                with pytest.raises(NoDataError):
                    read_profile(open_run(copy))
                continue
            profile = read_profile(open_run(copy))
            assert profile.n_intervals == complete
            boundary = end == image.start
            assert profile.damaged or boundary
        complete += image.kind == 2


@pytest.mark.slow
def test_cut_through_the_command_line(good: Path, copy: Path) -> None:
    data = (good / STREAM).read_bytes()
    intervals = [image for image in raw_images(data) if image.kind == 2]
    (copy / STREAM).write_bytes(data[: intervals[3].end])
    assert "clean" in phases(OK, copy) or "end" in phases(OK, copy)
    (copy / STREAM).write_bytes(data[: intervals[3].end + 30])
    phases(PARTIAL, copy)
    (copy / STREAM).write_bytes(data[: intervals[0].start + 10])
    phases(NO_DATA, copy)


def test_one_interval(good: Path, copy: Path) -> None:
    data = (good / STREAM).read_bytes()
    first = next(image for image in raw_images(data) if image.kind == 2)
    (copy / STREAM).write_bytes(data[: first.end])
    phases(OK, copy)


def without_kinds(data: bytes, *kinds: int) -> bytes:
    return b"".join(data[i.start : i.end] for i in raw_images(data) if i.kind not in kinds)


def test_zero_samples(good: Path, copy: Path) -> None:
    """Intervals without any sample, call or path: a message states that there are no phases to find."""
    data = (good / STREAM).read_bytes()
    (copy / STREAM).write_bytes(without_kinds(data, 3, 4, 6, 7))
    done = incprof("phases", copy, "--json")
    assert done.returncode in (OK, NO_DATA), done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert "internal error" not in done.stderr
    assert len(done.stderr.splitlines()) <= 1


def flip_magic(data: bytes) -> bytes:
    third = [image for image in raw_images(data) if image.kind == 2][2]
    return data[: third.start] + b"nomg" + data[third.start + 4 :]


def long_image(data: bytes) -> bytes:
    third = [image for image in raw_images(data) if image.kind == 3][2]
    return data[: third.start + 12] + struct.pack("<I", 0xFFFFFFF0) + data[third.start + 16 :]


def huge_histogram(data: bytes) -> bytes:
    """The first histogram of an image claims 2^31 bins."""
    third = [image for image in raw_images(data) if image.kind == 3][2]
    at = third.start + 20 + 1 + 16
    return data[:at] + struct.pack("<I", 1 << 31) + data[at + 4 :]


def many_nodes(data: bytes) -> bytes:
    nodes = next(image for image in raw_images(data) if image.kind == 6)
    payload = b"\xff\xff\xff\xff\xff\xff\xff\x7f" + data[nodes.start + 28 : nodes.end]
    return data[: nodes.start + 20] + payload + data[nodes.end :]


@pytest.mark.parametrize("spoil", [flip_magic, long_image, huge_histogram, many_nodes], ids=lambda f: f.__name__)
def test_damaged_image(good: Path, copy: Path, spoil: Callable[[bytes], bytes]) -> None:
    """Dropped with a warning; the rest is used."""
    (copy / STREAM).write_bytes(spoil((good / STREAM).read_bytes()))
    export(PARTIAL, copy)


def test_histogram_that_lies_in_a_small_file(program: Path, tmp_path: Path) -> None:
    """4 GiB of bins in 1 KiB: nothing of the kind is allocated."""
    need("bash")
    header = b"gmon" + struct.pack("<I", 1) + bytes(12)
    histogram = b"\0" + struct.pack("<QQII", 0x1000, 0x2000, 0xFFFFFFFF, 100) + b"seconds".ljust(15, b"\0") + b"s"
    (tmp_path / "gmon.out").write_bytes((header + histogram).ljust(1024, b"\0"))
    answers(NO_DATA, "phases", tmp_path, "--exe", program)


def test_wrong_binary(copy: Path, host: BuildHost) -> None:
    other = host("simple.c")
    said = answers(NO_DATA, "phases", copy, "--exe", other)
    assert "build-id" in said or str(other) in said


def test_program_gone_but_symbols_kept(good: Path, copy: Path) -> None:
    """The copies in the run directory are enough."""
    metadata = (copy / STREAM).read_bytes().replace(b"/hosts", b"/gonee")
    (copy / STREAM).write_bytes(metadata)
    export(OK, copy)


def test_neither_program_nor_symbols(copy: Path) -> None:
    metadata = (copy / STREAM).read_bytes().replace(b"/hosts", b"/gonee")
    (copy / STREAM).write_bytes(metadata)
    shutil.rmtree(copy / "symbols")
    done = incprof("phases", copy)
    assert done.returncode in (OK, NO_DATA, PARTIAL), done.stderr
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_stripped_program(program: Path, tmp_path: Path) -> None:
    """A stripped program has no names, which is reported; the unstripped program supplies them."""
    need("strip")
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", bare, program], check=True)
    assert run([bare], tmp_path, variables(tmp_path / "run", interval=0.1)).status == 0
    done = incprof("phases", tmp_path / "run")
    assert done.returncode in (OK, NO_DATA, PARTIAL)
    assert "symbol" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    named = incprof("export", tmp_path / "run", "--format", "csv", "--exe", program)
    assert named.returncode == OK, named.stderr
    assert "burn" in named.stdout


def test_no_such_rank(good: Path) -> None:
    done = incprof("phases", good, "--rank", "7")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
