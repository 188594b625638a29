"""Opening what others may have put there."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from appekg.opening import open_file
from incprof.safe.inputs import LARGEST_HOLE, inside, next_data, open_input, read_input
from tests.unit.places import PLACES, a_circle, a_hole, patience, put

Opener = Callable[..., object]
OPENERS = pytest.mark.parametrize("opener", [open_input, open_file])


@OPENERS
@pytest.mark.parametrize("place", [place for place in PLACES if place is not a_hole])
def test_what_is_no_regular_file_is_refused(place: Callable[[Path], None], opener: Opener, tmp_path: Path) -> None:
    path = put(place, tmp_path / "file")
    with patience(), pytest.raises(OSError, match=r"regular|directory|symbolic links") as raised:
        opener(path)
    assert raised.value.filename == str(path)


@OPENERS
def test_a_pipe_with_a_writer_is_left_alone(opener: Opener, tmp_path: Path) -> None:
    """A process that waits for a reader would go on, and lose its output."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(OSError, match="regular"):
        opener(path)
    with pytest.raises(OSError, match="No such device"):
        os.open(path, os.O_WRONLY | os.O_NONBLOCK)


@OPENERS
@pytest.mark.parametrize("name", ["nul\0", "half \ud800", "\udfff"])
def test_names_that_no_file_can_have(name: str, opener: Opener, tmp_path: Path) -> None:
    for path in (tmp_path / name, tmp_path / name / "file"):
        with pytest.raises(OSError, match="name"):
            opener(path)
        with pytest.raises(OSError, match=r"name|leads out"):
            opener(path, within=tmp_path)


@OPENERS
def test_links_stay_in_the_directory_of_a_run(opener: Opener, tmp_path: Path) -> None:
    run, outside = tmp_path / "run", tmp_path / "outside"
    run.mkdir()
    outside.mkdir()
    for place in (run, outside):
        (place / "file").write_text("text")
    (run / "link").symlink_to("file")
    (run / "out").symlink_to(outside / "file")
    (run / "folder").symlink_to(outside)
    (tmp_path / "alias").symlink_to(run)
    for path in (run / "file", run / "link", tmp_path / "alias/link"):
        opener(path, within=path.parent).close()
    for path in (run / "out", run / "folder/file", run / "../outside/file"):
        opener(path).close()
        with pytest.raises(OSError, match="leads out of"):
            opener(path, within=run)


@OPENERS
def test_descriptors_are_closed(opener: Opener, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        opener(tmp_path / "file").close()
        for wrong in (tmp_path, "/dev/null"):
            with pytest.raises(OSError, match=r"regular|directory"):
                opener(Path(wrong))
    assert len(os.listdir("/proc/self/fd")) == before


@OPENERS
def test_reading_ends_where_a_large_hole_begins(opener: Opener, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"text\n" * 100_000)
    os.truncate(path, 1 << 40)
    with opener(path) as file:
        if next_data(file.fileno(), 1 << 30) == 1 << 30:
            pytest.skip("this file system has no holes")
        file.seek(0)
        assert file.read(500_000) == b"text\n" * 100_000
        file.seek(1 << 20)
        with pytest.raises(OSError, match="a hole of 1023 GiB"):
            file.read(1 << 20)
    os.truncate(path, 500_000 + LARGEST_HOLE // 64)
    with opener(path) as file:
        assert len(file.read()) == 500_000 + LARGEST_HOLE // 64


def test_no_more_is_read_than_may_be(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_input(path, 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_input(path, 4)
    put(a_hole, path)
    with pytest.raises(OSError, match="larger than 64 MiB"):
        read_input(path, 64 << 20)


def test_a_file_without_a_size_is_read(tmp_path: Path) -> None:
    assert read_input("/proc/self/stat", 1 << 20).startswith(str(os.getpid()).encode())
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_input("/proc/self/stat", 4)


def test_where_a_path_leads(tmp_path: Path) -> None:
    assert inside(tmp_path / "new", tmp_path)
    assert not inside(tmp_path, tmp_path / "new")
    assert not inside(tmp_path / "nul\0", tmp_path)
    put(a_circle, tmp_path / "circle")
    assert inside(tmp_path / "circle", tmp_path)
