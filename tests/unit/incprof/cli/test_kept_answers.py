"""The same question about the same files is answered from what was kept: the same bytes, and only then."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from incprof.cli import kept_answers
from incprof.cli.main import main
from incprof.safe.inputs import TICK_NS
from tests.unit.elfwriter import Symbol, elf_bytes
from tests.unit.streamwriter import BASE, BUILD_ID, STEP, Sample, StreamWriter, module


def binary(path: Path, name: str, table: str = ".symtab") -> None:
    path.write_bytes(elf_bytes([Symbol(name, BASE)], build_id=BUILD_ID, text=(BASE, BASE + STEP), table=table))


def rest() -> None:
    """Wait until a clock of the file system has gone on: until then a file may change unseen."""
    time.sleep(2 * TICK_NS / 1e9)


def write(directory: Path, program: str, *, whole: bool = True) -> None:
    writer = StreamWriter(["main"], exe=program, modules=[module(0, program, BUILD_ID, app=True)])
    for _ in range(4):
        writer.interval([Sample("main"), Sample("main")])
    writer.end()
    writer.data = writer.data if whole else writer.data[:-60]
    writer.save(directory)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # A library sets it where it is imported, which is here, not in a process of its own, before the next question.
    monkeypatch.setenv("KMP_DUPLICATE_LIB_OK", "True")
    binary(tmp_path / "app", "main")
    write(tmp_path / "run", str(tmp_path / "app"))
    rest()
    return tmp_path / "run"


class Asked:
    """Asks, and counts how often an answer was made."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
        self._capsys, self.made = capsys, 0
        from incprof.cli.verbs import phases

        made = phases.run

        def counted(args):
            self.made += 1
            return made(args)

        monkeypatch.setattr(phases, "run", counted)

    def __call__(self, *words: object) -> tuple[int, str, str]:
        self._capsys.readouterr()
        status = main(["phases", *map(str, words)])
        return (status, *self._capsys.readouterr())


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(capsys, monkeypatch)


def test_the_same_question_has_the_same_answer(run: Path, ask: Asked) -> None:
    first = ask(run, "--details")
    assert first[0] == 0
    assert "main" in first[1]
    assert [ask(run, "--details"), ask(run, "--details")] == [first, first]
    assert ask.made == 1


def test_an_answer_is_kept_although_its_own_caches_were_just_written(run: Path, ask: Asked) -> None:
    # What importing scikit-learn sets in the environment is set before the first question.
    ask(run, "--method", "paper", "--k", "1")
    (run / "kmeans.json").unlink()
    rest()
    first = ask(run, "--method", "paper")
    assert (run / "kmeans.json").exists()
    assert ask(run, "--method", "paper") == first
    assert ask.made == 2


def test_warnings_and_exit_status_are_a_part_of_it(run: Path, tmp_path: Path, ask: Asked) -> None:
    write(run, str(tmp_path / "app"), whole=False)
    binary(run / "symbols" / f"{BUILD_ID}.elf", "main", table=".dynsym")
    binary(tmp_path / "app", "main", table=".dynsym")
    rest()
    first = ask(run)
    assert first[0] == 5
    assert "stripped" in first[2]
    assert ask(run) == first
    assert ask.made == 1


def changed_recording(run: Path) -> None:
    path = run / "rank-00000.gmon"
    before = os.stat(path)
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def other_symbols(run: Path) -> None:
    (run / "symbols" / f"{BUILD_ID}.elf").unlink()


def another_rank(run: Path) -> None:
    os.link(run / "rank-00000.gmon", run / "rank-00000.77.gmon")


def another_width(run: Path) -> None:
    os.environ["COLUMNS"] = "90"


@pytest.mark.parametrize("change", [changed_recording, other_symbols, another_rank, another_width])
def test_what_has_changed_is_detected(run: Path, ask: Asked, monkeypatch: pytest.MonkeyPatch, change) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    ask(run)
    change(run)
    rest()
    ask(run)
    assert ask.made == 2


def test_a_file_that_was_not_there(run: Path, tmp_path: Path, ask: Asked) -> None:
    (run / "symbols" / f"{BUILD_ID}.elf").unlink()
    ask(run, "--details")
    binary(run / "symbols" / f"{BUILD_ID}.elf", "renamed")
    assert "renamed" in ask(run, "--details")[1]


def test_other_arguments_are_another_question(run: Path, ask: Asked) -> None:
    answers = [ask(run), ask(run, "--json"), ask(run, "--k", "1")]
    assert [ask(run), ask(run, "--json"), ask(run, "--k", "1")] == answers
    assert ask.made == 3
    assert json.loads(answers[1][1])["schema"].startswith("incprof.phases/")


@pytest.mark.parametrize("other", [(kept_answers, "__file__", "/opt/other/kept_answers.py"), (sys, "prefix", "/opt")])
def test_another_installation_makes_its_own_answer(
    run: Path, ask: Asked, monkeypatch: pytest.MonkeyPatch, other: tuple[object, str, str]
) -> None:
    ask(run)
    monkeypatch.setattr(*other)
    ask(run)
    assert ask.made == 2


def test_only_the_last_ones_are_kept(run: Path, ask: Asked) -> None:
    for seed in range(6):
        ask(run, "--seed", seed)
    stored = json.loads((run / kept_answers.STORE).read_text())
    assert len(stored["answers"]) == kept_answers.MOST_ANSWERS


def forged(stored: dict) -> bytes:
    """An answer planted by a user who guessed the question, but not the state of any file."""
    (one,) = stored["answers"]
    one["said"], one["files"] = [["out", "forged\n"]], [["/nowhere", None]]
    return json.dumps(stored).encode()


def torn(stored: dict) -> bytes:
    return json.dumps(stored).encode()[:-20]


def of_other_kinds(stored: dict) -> bytes:
    for one in stored["answers"]:
        one["said"] = [["out", 7]]
    return json.dumps(stored).encode()


def of_another_version(stored: dict) -> bytes:
    return json.dumps(stored | {"version": 99}).encode()


@pytest.mark.parametrize("hostile", [forged, torn, of_other_kinds, of_another_version, lambda _: b"[]", lambda _: b""])
def test_what_is_no_kept_answer_is_ignored(run: Path, ask: Asked, hostile) -> None:
    first = ask(run)
    path = run / kept_answers.STORE
    path.write_bytes(hostile(json.loads(path.read_text())))
    assert ask(run) == first
    assert ask.made == 2


def test_a_place_that_cannot_be_written_to(run: Path, ask: Asked) -> None:
    (run / kept_answers.STORE).mkdir()
    assert ask(run) == ask(run)
    assert ask.made == 2


def test_a_recording_that_goes_on_is_not_kept(run: Path, ask: Asked) -> None:
    changed_recording(run)
    ask(run)
    assert not (run / kept_answers.STORE).exists()


def test_errors_are_not_kept(run: Path, ask: Asked) -> None:
    assert ask(run, "--rank", "7")[0] == 2
    assert not (run / kept_answers.STORE).exists()
