"""Writing into a source tree: all files or none, and only what may be written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from incprof.errors import IncprofError
from incprof.source.changes import Version, inside, replace_all


def tree(place: Path) -> Path:
    """A tree of two files and a directory."""
    root = place / "src"
    (root / "sub").mkdir(parents=True)
    (root / "a.c").write_bytes(b"a")
    (root / "sub" / "b.c").write_bytes(b"b")
    return root


def contents(root: Path) -> dict[str, bytes]:
    """Every file below it."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


BOTH = [Version("a.c", b"a", b"new a"), Version("sub/b.c", b"b", b"new b")]


def test_all(tmp_path: Path) -> None:
    root = tree(tmp_path)
    (root / "a.c").chmod(0o640)
    replace_all(root, BOTH)
    assert contents(root) == {"a.c": b"new a", "sub/b.c": b"new b"}
    assert (root / "a.c").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("spoil", ["read-only", "changed", "gone", "directory", "out", "chain"])
def test_none(tmp_path: Path, spoil: str) -> None:
    """The second of two cannot be written: the first one stays as it is, and nothing else is left behind."""
    root = tree(tmp_path)
    second, outside = root / "sub" / "b.c", tmp_path / "outside.c"
    outside.write_bytes(b"b")
    if spoil == "read-only":
        second.chmod(0o444)
    elif spoil == "changed":
        second.write_bytes(b"b, edited")
    else:
        second.unlink()
    if spoil == "directory":
        second.mkdir()
    elif spoil == "out":
        second.symlink_to(outside)
    elif spoil == "chain":
        (root / "sub" / "c.c").symlink_to(Path("..") / ".." / "outside.c")
        second.symlink_to("c.c")
    before = contents(root)
    with pytest.raises(IncprofError) as error:
        replace_all(root, BOTH)
    assert str(second) in str(error.value) or "outside" in str(error.value)
    assert "\n" not in str(error.value)
    assert contents(root) == before
    assert outside.read_bytes() == b"b"


def test_a_link_within_the_tree_is_followed(tmp_path: Path) -> None:
    root = tree(tmp_path)
    (root / "link.c").symlink_to("sub/b.c")
    replace_all(root, [Version("link.c", b"b", b"new b")])
    assert (root / "link.c").is_symlink()
    assert (root / "sub" / "b.c").read_bytes() == b"new b"


def test_a_failure_halfway_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, really, calls = tree(tmp_path), os.replace, []

    def replace(source: str, target: Path) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(5, "Input/output error")
        really(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(IncprofError, match="no file was changed"):
        replace_all(root, BOTH)
    assert contents(root) == {"a.c": b"a", "sub/b.c": b"b"}


@pytest.mark.parametrize("path", ["../outside.c", "sub/../../outside.c", "/etc/hostname"])
def test_paths_out_of_the_tree(tmp_path: Path, path: str) -> None:
    root = tree(tmp_path)
    (tmp_path / "outside.c").write_bytes(b"b")
    with pytest.raises(IncprofError, match="leads out of"):
        inside(root, path)


def test_a_tree_that_is_a_link_itself(tmp_path: Path) -> None:
    root = tree(tmp_path)
    (tmp_path / "link").symlink_to(root)
    replace_all(tmp_path / "link", BOTH)
    assert contents(root) == {"a.c": b"new a", "sub/b.c": b"new b"}


def test_a_directory_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(tmp_path)

    def refused(**_: object) -> tuple[int, str]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refused)
    with pytest.raises(IncprofError, match="Permission denied"):
        replace_all(root, BOTH)
    assert contents(root) == {"a.c": b"a", "sub/b.c": b"b"}
