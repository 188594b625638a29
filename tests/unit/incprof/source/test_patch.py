"""Differences: what `patch` and `git apply` make of them is the new version, byte for byte."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incprof.source.changes import difference
from incprof.source.model import Insertion, insert

TOOLS = {"patch": ["patch", "-p1", "--binary", "-s", "-i"], "git": ["git", "apply"]}
LINES = st.lists(st.sampled_from([b"{\n", b"}\n", b"\n", b"a();\r\n", b"b(); /* \xff */\n", b"\tc();\n"]), max_size=40)
ENDS = st.sampled_from([b"", b"end", b"end\n", b"\r"])


def applied(tool: str, place: Path, path: str, old: bytes, new: bytes) -> bytes:
    """What the tool makes of the old version."""
    if shutil.which(TOOLS[tool][0]) is None:
        pytest.skip(f"{tool} is not installed")
    target = place / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(old)
    change = place / "change.diff"
    change.write_bytes(difference(path, old, new))
    subprocess.run([*TOOLS[tool], change], cwd=place, check=True, capture_output=True)
    return target.read_bytes()


@pytest.mark.parametrize("tool", sorted(TOOLS))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(old=LINES, end=ENDS, data=st.data())
def test_insertions(tool: str, tmp_path: Path, old: list[bytes], end: bytes, data: st.DataObject) -> None:
    before = b"".join(old) + end
    texts = st.sampled_from([b"EKG_SCOPE(1);\n", b" beat(); ", b"{ ", b" }", b"\n"])
    places = st.builds(Insertion, st.integers(0, len(before)), texts)
    after = insert(before, data.draw(st.lists(places, min_size=1, max_size=5)))
    if before == after or not before:
        return
    assert applied(tool, tmp_path, "src/a.c", before, after) == after
    assert applied(tool, tmp_path, "src/a.c", after, before) == before


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(old=LINES.filter(len), new=LINES.filter(len), end=ENDS, other=ENDS)
def test_any_two_versions(tmp_path: Path, old: list[bytes], new: list[bytes], end: bytes, other: bytes) -> None:
    before, after = b"".join(old) + end, b"".join(new) + other
    if before != after:
        assert applied("git", tmp_path, "a.c", before, after) == after


@pytest.mark.parametrize("path", ["with space.c", "dir/ümlaut.c", 'quote".c', "tab\t.c", "back\\slash.c"])
def test_odd_names(tmp_path: Path, path: str) -> None:
    assert applied("git", tmp_path, path, b"a\nb\n", b"a\nx\nb\n") == b"a\nx\nb\n"


def test_patch_takes_spaces(tmp_path: Path) -> None:
    assert applied("patch", tmp_path, "with space.c", b"a\nb\n", b"a\nx\nb\n") == b"a\nx\nb\n"


def test_no_difference() -> None:
    assert difference("a.c", b"a\n", b"a\n") == b""


def test_far_apart_changes_are_hunks_of_their_own() -> None:
    old = [b"%d\n" % number for number in range(50)]
    new = [*old[:10], b"x\n", *old[10:40], b"y\n", *old[40:]]
    text = difference("a.c", b"".join(old), b"".join(new))
    assert text.count(b"@@ -") == 2
    assert b"@@ -8,6 +8,7 @@\n 7\n 8\n 9\n+x\n 10\n" in text


def test_lines_that_stay_are_no_change() -> None:
    old = b"a\nloop\nfirst\nsecond\nafter\nb\nc\n"
    new = b"a\nloop\n{\nbeat\nfirst\nsecond\n}\nafter\nb\nc\n"
    text = difference("a.c", old, new)
    assert [line for line in text.splitlines()[3:] if line[:1] in b"+-"] == [b"+{", b"+beat", b"+}"]


def test_a_version_without_anything_in_common() -> None:
    text = difference("a.c", b"a\n" * 1000, b"b\n" * 900)
    assert (text.count(b"\n-a"), text.count(b"\n+b")) == (1000, 900)
