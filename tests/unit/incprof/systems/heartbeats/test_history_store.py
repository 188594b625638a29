import sqlite3
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import pytest

from incprof.errors import IncprofError, UsageError
from incprof.systems.heartbeats.history_store import BeatRow, RunRow, opened

RUN = RunRow("first", "app", "/bin/app", "[]", "node", "job.1", 1000, 2, 2, 4, 10, 1.0, 10.0, 1, 0)
BEAT = BeatRow(1, "solve", 1, 10, 0, 0.5, 0.4, 0.6, 0.1, 0.4, 0.6, 1.0, 50.0, q99=0.6)


def numbered(number, **more):
    return replace(RUN, identity=f"run {number}", start_unix_ns=1000 + number, **more)


def put(path, run, beats=(BEAT,), keep=None):
    with opened(str(path)) as store:
        number, how = store.add(run, list(beats))
        past = store.past(number)
        forgotten = store.keep(run.app, run.ranks, keep) if keep else 0
    return how, [old for old, _ in past], forgotten


def count(path):
    with sqlite3.connect(path) as connection:
        return connection.execute("SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM beats)").fetchone()


def test_what_was_kept_comes_back(tmp_path):
    put(tmp_path / "h", RUN, [BEAT, replace(BEAT, id=2, name=None, mean_s=None)])
    with opened(str(tmp_path / "h")) as store:
        ((run, beats),) = store.past(store.add(numbered(2), [])[0])
    assert (run, beats) == (RUN, [BEAT, replace(BEAT, id=2, name=None, mean_s=None)])


def test_the_same_run_is_kept_once_and_grows(tmp_path):
    file = tmp_path / "h"
    young = replace(RUN, duration_s=4.0, clean=0)
    assert [put(file, run)[0] for run in (young, young, RUN, RUN, young)] == [
        "added", "known", "updated", "known", "known",
    ]  # fmt: skip
    assert count(file) == (1, 1)
    with opened(str(file)) as store:
        ((run, _),) = store.past(store.add(numbered(1), [])[0])
    assert run == RUN


def test_the_past_is_of_the_same_kind_and_earlier(tmp_path):
    file = tmp_path / "h"
    put(file, numbered(5))
    put(file, numbered(1))
    put(file, numbered(2, ranks=4))
    put(file, numbered(3, app="other"))
    assert put(file, numbered(4))[1] == [numbered(1)]
    assert put(file, numbered(6))[1] == [numbered(1), numbered(4), numbered(5)]
    assert put(file, numbered(5))[:2] == ("known", [numbered(1), numbered(4)])


def test_keep_forgets_the_oldest_of_the_same_kind(tmp_path):
    file = tmp_path / "h"
    put(file, numbered(0, app="other"))
    for number in range(1, 8):
        assert put(file, numbered(number))[2] == 0
    assert put(file, numbered(8), keep=3)[2] == 5
    assert put(file, numbered(9))[1] == [numbered(6), numbered(7), numbered(8)]
    assert count(file) == (5, 5)


def test_an_error_keeps_nothing(tmp_path):
    file = tmp_path / "h"
    put(file, RUN)
    with pytest.raises(IncprofError), opened(str(file)) as store:
        store.add(numbered(2), [BEAT, BEAT])  # the second has the same id
    assert count(file) == (1, 1)


def add_some(path, first):
    for number in range(first, first + 5):
        put(path, numbered(number))


def test_several_processes_lose_nothing(tmp_path):
    file = tmp_path / "h"
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        list(pool.map(add_some, [file] * 4, range(0, 20, 5)))
    assert count(file) == (20, 20)


def test_a_held_lock_is_waited_for_and_then_reported(tmp_path):
    file = str(tmp_path / "h")
    put(file, RUN)
    with opened(file), pytest.raises(IncprofError, match="another process holds it"), opened(file, patience_s=0.05):
        pass


def foreign(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE precious (x)")
    connection.close()


@pytest.mark.parametrize("make", [lambda p: p.write_bytes(b"precious\n" * 100), foreign, lambda p: p.mkdir(),
                                  lambda p: p.write_bytes(b"SQLite format 3\0")])  # fmt: skip
def test_what_is_no_store_is_refused_and_left_as_it_is(tmp_path, make):
    file = tmp_path / "h"
    make(file)
    before = file.read_bytes() if file.is_file() else None
    with pytest.raises(UsageError), opened(str(file)):
        pass
    assert (file.read_bytes() if file.is_file() else None) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["h"]


def test_a_later_version_is_refused(tmp_path):
    file = tmp_path / "h"
    put(file, RUN)
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 2")
    with pytest.raises(IncprofError, match="version 2 is newer"), opened(str(file)):
        pass


def test_a_damaged_store_is_an_error_of_one_line(tmp_path):
    file = tmp_path / "h"
    for number in range(50):
        put(file, numbered(number))
    whole = file.read_bytes()
    # The root page stays, what it points to does not.
    file.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(IncprofError) as problem:
        put(file, numbered(99))
    assert "\n" not in str(problem.value)
    file.write_bytes(whole[:5000])
    with pytest.raises(IncprofError):
        put(file, numbered(99))


def test_no_directory(tmp_path):
    with pytest.raises(UsageError, match="there is no directory"), opened(str(tmp_path / "no" / "h")):
        pass


@pytest.mark.parametrize("name", [":memory:", "file:x?mode=memory", "a b%?#"])
def test_odd_names_are_files(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    put(name, RUN)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_an_empty_file_is_an_empty_store(tmp_path):
    (tmp_path / "h").touch()
    assert put(tmp_path / "h", RUN)[0] == "added"


def test_a_name_that_is_no_text(tmp_path):
    file = tmp_path / "h"
    put(file, RUN)
    file.write_bytes(file.read_bytes().replace(b"runs_of_app ON runs", b"runs_of_app ON r\xccns"))
    with pytest.raises(IncprofError, match="a name in it is not text: the file is damaged"):
        put(file, numbered(2))
