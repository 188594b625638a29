"""Answers that are kept beside a run, and JSON that others wrote."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from incprof.safe.jsonstore import MOST_BYTES, JsonStore, replacing
from incprof.safe.printable import parse_json
from tests.unit.places import PLACES, a_directory, patience, put


def numbers(stored: dict[str, Any]) -> list[int]:
    return [int(number) for number in stored["numbers"]]


def store(directory: Path, version: int = 1) -> JsonStore:
    return JsonStore(str(directory), "below/store.json", version)


def test_what_was_kept_is_there(tmp_path: Path) -> None:
    assert store(tmp_path).load(numbers) is None
    store(tmp_path).save({"numbers": [3, 4]})
    assert store(tmp_path).load(numbers) == [3, 4]
    assert store(tmp_path, 2).load(numbers) is None
    assert os.listdir(tmp_path / "below") == ["store.json"]


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"[]", b"null", b'{"version": 1}', b'{"version": 1, "numbers": 3}',
        b'{"version": 1, "numbers": [{}]}', b'{"version": 1, "numbers": [1e999]}',
        b'{"version": 1, "numbers": ["\\ud800"]}', b"[" * 100_000, b"\xff\xfe",
    ],
)  # fmt: skip
def test_what_is_damaged_is_not_there(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below/store.json").write_bytes(text)
    assert store(tmp_path).load(numbers) is None
    store(tmp_path).save({"numbers": [5]})
    assert store(tmp_path).load(numbers) == [5]


@pytest.mark.parametrize("place", PLACES)
def test_what_stands_in_its_place(place: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    put(place, tmp_path / "below/store.json")
    with patience():
        assert store(tmp_path).load(numbers) is None
        store(tmp_path).save({"numbers": [5]})
        assert store(tmp_path).load(numbers) == (None if place is a_directory else [5])
    assert len(os.listdir(tmp_path / "below")) == 1


def test_nothing_is_read_or_written_elsewhere(tmp_path: Path) -> None:
    run, outside = tmp_path / "run", tmp_path / "outside"
    run.mkdir()
    store(outside.parent / "outside").save({"numbers": [1]})
    outside.mkdir()
    store(outside).save({"numbers": [1]})
    (run / "below").symlink_to(outside / "below")
    assert store(run).load(numbers) is None
    store(run).save({"numbers": [2]})
    assert store(outside).load(numbers) == [1]
    (run / "below").unlink()
    (run / "below").mkdir()
    (run / "below/store.json").symlink_to(outside / "below/store.json")
    store(run).save({"numbers": [2]})
    assert (store(run).load(numbers), store(outside).load(numbers)) == ([2], [1])


def test_too_much_is_neither_kept_nor_read(tmp_path: Path) -> None:
    store(tmp_path).save({"numbers": [], "filler": "x" * MOST_BYTES})
    assert store(tmp_path).load(numbers) is None
    assert not (tmp_path / "below").exists()
    (tmp_path / "below").mkdir()
    (tmp_path / "below/store.json").write_bytes(json.dumps({"version": 1, "numbers": []}).encode() + b" " * MOST_BYTES)
    assert store(tmp_path).load(numbers) is None


def test_others_may_read_what_the_umask_allows(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        store(tmp_path).save({"numbers": [1]})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "below/store.json").stat().st_mode) == 0o640


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "file") as file:
        file.write(b"new" * (1 // 0))
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_names_in_json_are_names() -> None:
    assert parse_json(b'["caf\xe9"]') == ["caf\udce9"]
    assert os.fsencode(parse_json(b'"caf\xe9"')) == b"caf\xe9"
    assert parse_json(b'{"a\\u0000": ["\\ud800", {"\\udfff": 1}, "\\ud83d\\ude00", "\\u00e9"]}') == {
        "a\ufffd": ["\ufffd", {"\ufffd": 1}, "\U0001f600", "\u00e9"],
    }


@pytest.mark.parametrize("text", [b"[" + b"[]," * 400_000 + b"0]", b"[" + b'{"":{}},' * 200_000 + b"0]", b"[" * 10**6])
def test_brackets_take_no_memory(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"brackets|deeply"):
        parse_json(text)
