"""What soak/ takes for a finding: each invariant is broken once, by an answer made up or by a reader that does it."""

import signal
import sys
import time

import pytest

from soak import answer, readers
from soak.answer import Answer, Capture, troubles
from soak.budget import Budget
from soak.finding import Keeper
from soak.mutate import mutate_binary
from soak.subject import Subject, draw
from soak.worker import Worker, run_case

LINE = b"incprof: x.gmon: no data\n"


def test_nothing_is_wrong_with_what_is_documented():
    assert not troubles(Answer(("phases", "run"), 4, b"", LINE))
    assert not troubles(Answer(("phases", "run"), 0, "Phase  Sité\n\tä\n".encode()))
    assert not troubles(Answer(("phases", "--json", "-h"), 0, b"usage: incprof phases\n"))
    assert not troubles(Answer(("phases", "run", "--json"), 5, b'{"schema": "incprof.phases/1"}', LINE))


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (Answer(("phases",), 1, b"", b"Traceback (most recent call last):\n"), "Traceback"),
        (Answer(("phases",), 1, b"", b"incprof: internal error: KeyError\n"), "internal error"),
        (Answer(("phases",), 1, b"", b"incprof: not enough memory for this input\n"), "not enough memory"),
        (Answer(("phases",), 0, b"", b"x.py:3: RuntimeWarning: overflow\n"), "RuntimeWarning"),
        (Answer(("phases",), 6, b"", LINE), "status 6"),
        (Answer(("phases",), 139, b"", LINE), "status 139"),
        (Answer(("phases",), 4), "status 4 without a word"),
        (Answer(("phases",), -11), "ended by signal 11"),
        (Answer(("phases",), 4, b"", LINE * 100), "100 lines"),
        (Answer(("phases",), 4, b"", b"x" * 10_000), "the longest of 10000"),
        (Answer(("phases",), 0, b"x", cpu_s=10.5), "more than 10 s"),
        (Answer(("phases",), 0, b"\x1b[2J"), "stdout is not printable"),
        (Answer(("phases",), 0, "a\u202eb".encode()), "stdout is not printable"),
        (Answer(("phases",), 0, b"\xff"), "stdout is not printable: no UTF-8"),
        (Answer(("phases",), 4, b"", b"incprof: \x1b]0;t\x07\n"), "stderr is not printable"),
        (Answer(("phases", "--json"), 0, b'{"schema": "a", "x": NaN}'), "no JSON"),
        (Answer(("phases", "--json"), 0, b'{"schema": "a"'), "no JSON"),
        (Answer(("phases", "--json"), 0, b"[]"), "no schema"),
    ],
)
def test_what_must_not_be(answer, wrong):
    assert any(wrong in each for each in troubles(answer)), troubles(answer)


def burn(path):
    while True:
        pass


def take(path):
    bytearray(200 << 20)


def fault(path):
    raise KeyError(path)


def crash(path):
    signal.raise_signal(signal.SIGUSR1)


def shout(path):
    sys.stdout.buffer.write(b"\x1b[2J")


def well(path):
    time.sleep(0)


def subject(name, reader, monkeypatch):
    for table in (readers.READERS, readers.PURE):
        monkeypatch.setitem(table, reader.__name__, reader)
    return Subject(
        name, 1, [{"a": b"abc" * 20}, {"a": b"xyz" * 20}], "a", mutate_binary, ((1, (reader.__name__, "a")),)
    )


@pytest.mark.parametrize(
    ("reader", "wrong"),
    [
        (take, "MemoryError"),
        (fault, "KeyError"),
        (crash, f"ended: {-signal.SIGUSR1}"),
        (shout, "stdout is not printable"),
        (well, None),
    ],
)
def test_what_a_reader_does_is_detected(reader, wrong, monkeypatch, tmp_path):
    worker = Worker([subject("kind", reader, monkeypatch)], 1, tmp_path)
    try:
        results = worker.run("kind", 3, 4)
    finally:
        worker.end()
    assert sum(results.statuses.values()) == 4
    if wrong is None:
        assert not results.wrong
    else:
        assert sorted(number for number, _ in results.wrong) == [3, 4, 5, 6]
        assert all(wrong in each for _, each in results.wrong), results.wrong


def test_a_reader_without_end_is_ended(monkeypatch, tmp_path):
    monkeypatch.setattr("soak.answer.LIMIT_CPU_S", 0)
    worker = Worker([subject("kind", burn, monkeypatch)], 1, tmp_path)
    try:
        results = worker.run("kind", 0, 1)
    finally:
        worker.end()
    assert results.wrong == [(0, "more than 10 s")]


def wait(path):
    signal.pause()


def test_a_reader_that_waits_for_ever_is_ended(monkeypatch, tmp_path):
    worker = Worker([subject("fine", well, monkeypatch), subject("kind", wait, monkeypatch)], 1, tmp_path)
    try:
        # The process is there before patience is short: to start it may take a busy machine longer than that.
        assert not worker.run("fine", 1, 1).wrong
        monkeypatch.setattr("soak.worker.PATIENCE_S", 0.2)
        results = worker.run("kind", 7, 1)
    finally:
        worker.end()
    assert results.statuses == {-signal.SIGKILL: 1}
    ((number, wrong),) = results.wrong
    assert (number, wrong.partition(":")[0]) == (7, "waits for something")


def test_the_same_seed_draws_the_same_case(monkeypatch):
    kind = subject("kind", well, monkeypatch)
    assert draw(kind, 7, 12) == draw(kind, 7, 12)
    assert len({draw(kind, 7, number).tree["a"] for number in range(20)}) > 10
    assert draw(kind, 7, 12).tree != draw(kind, 8, 12).tree


def test_a_case_has_its_own_files_only(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setitem(readers.READERS, "look", lambda path: seen.append((tmp_path / "case" / path).read_bytes()))
    kind = Subject("kind", 1, [{"a": b"abc"}], "a", mutate_binary, ((1, ("look", "a")),))
    with Capture() as capture:
        for number in range(5):
            assert run_case(draw(kind, 1, number), tmp_path / "case", capture).status == 0
    assert seen == [draw(kind, 1, number).tree["a"] for number in range(5)]


def test_a_finding_is_kept_with_what_shows_it_again(tmp_path):
    keeper = Keeper(tmp_path, "again {case}")
    for number in range(5):
        keeper.keep(f"inputs/kind/{number}", f"line {number} is wrong", {"run/a": b"abc"}, words=["phases"])
    assert len(keeper.found) == 5
    assert sum(finding.kept is not None for finding in keeper.found) == 3
    assert (tmp_path / "inputs-kind-0" / "files" / "run" / "a").read_bytes() == b"abc"
    assert keeper.lines()[0].startswith("5 x inputs: line # is wrong")
    assert "again inputs/kind/0" in keeper.lines()[1]


def test_a_budget_of_cases():
    budget = Budget(0, 7)
    assert [budget.more(5), budget.more(5), budget.more(5)] == [5, 2, 0]
    assert budget.done == 7


def test_a_budget_of_seconds():
    assert Budget(1e9).more(5) == 5
    assert Budget(0).more(5) == 0


def test_readers_report_errors_as_commands_do(tmp_path, capfd):
    assert answer.carry_out(["read-series", str(tmp_path / "none.csv")]) == 4
    assert answer.carry_out(["read-gmon", str(tmp_path / "none")]) == 4
    assert capfd.readouterr().err.count("incprof: ") == 2
