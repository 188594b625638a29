"""The command line: verbs, exit codes, and what is imported for which of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from incprof import __version__
from incprof.cli import main as cli
from incprof.cli.parser import COMPUTE, RUN_PROGRAMS, VERBS
from incprof.errors import GateError, IncprofError, NoDataError, PartialDataError, UsageError
from tests.unit.profiles import two_phase_run


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "incprof", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]


def raising(error: BaseException):
    def fail(args: object) -> int:
        raise error

    return fail


@pytest.fixture
def broken_verb(monkeypatch: pytest.MonkeyPatch):
    """Lets `incprof env` raise what the test wants."""

    def install(error: BaseException) -> None:
        monkeypatch.setattr("incprof.cli.verbs.env.run", raising(error))

    return install


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([verb, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: incprof {verb}")


def test_help_lists_the_verbs_without_importing_them() -> None:
    code = "import sys; from incprof.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(verb in done.stdout for verb in VERBS)
    assert "incprof.cli.verbs.record" not in done.stderr.split()


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["record", "--help"],
        ["env", "--libpath"],
        ["config", "show"],
        ["check", sys.executable],
    ],
)
def test_starting_a_recording_imports_no_scientific_package(words: list[str]) -> None:
    code = f"import sys; from incprof.cli.main import main; main({words!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert not loaded & {"numpy", "scipy", "pandas", "sklearn", "kneed", "rich", "elftools"}


def test_an_answer_imports_nothing_that_takes_longer_than_the_answer(tmp_path: Path) -> None:
    """Only diff needs an optimiser: what the other verbs import is looked at before."""
    run_directory = str(two_phase_run(tmp_path / "run"))
    page = str(tmp_path / "out.html")
    verbs = [["phases", run_directory], ["phases", run_directory, "--json", "--explain"], ["sites", run_directory]]
    verbs += [["report", run_directory, "-o", page], ["top", run_directory, "--once"], ["periods", run_directory]]
    code = "import sys; from incprof.cli.main import main\nfor words in {}: main(words)\n"
    code = code.format(verbs) + "print(*sys.modules, file=sys.stderr); "
    code += f"main(['diff', {run_directory!r}, {run_directory!r}]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    dear = {"sklearn", "pandas", "matplotlib", "kneed"}
    dear |= {f"scipy.{part}" for part in ("stats", "signal", "optimize", "linalg", "sparse.csgraph")}
    others, all_of_them = (set(line.split()) for line in done.stderr.splitlines() if " incprof.cli.main " in line)
    assert dear & others == set()
    assert dear & all_of_them == {"scipy.optimize", "scipy.linalg"}


def loaded_by(words: list[str], *, absent: str = "") -> tuple[set[str], subprocess.CompletedProcess[str]]:
    """Return what of the paper's libraries an answer imports, and how it ended. absent: one that is not installed."""
    code = f"import sys; sys.modules.update({{{absent!r}: None}}); from incprof.cli.main import main"
    code += f"; status = main({words!r})"
    code += "; print(*(name for name, module in sys.modules.items() if module)); sys.exit(status)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    *answer, last = done.stdout.splitlines()
    done.stdout = "\n".join(answer)
    return {"sklearn", "kneed"} & set(last.split()), done


@pytest.mark.slow
def test_the_papers_libraries_are_imported_where_they_run_and_once(tmp_path: Path) -> None:
    words = ["phases", str(two_phase_run(tmp_path / "run")), "--method", "paper"]
    used, first = loaded_by(words)
    assert used == {"sklearn", "kneed"}
    used, again = loaded_by(words)
    assert used == set()
    assert (again.stdout, again.returncode) == (first.stdout, 0)
    used, _ = loaded_by([*words, "--k", "2"])
    assert used <= {"sklearn"}


@pytest.mark.parametrize("absent", ["sklearn", pytest.param("kneed", marks=pytest.mark.slow)])
def test_a_missing_library_of_the_paper_is_one_line_with_the_command(absent: str, tmp_path: Path) -> None:
    words = ["phases", str(two_phase_run(tmp_path / "run")), "--method", "paper"]
    _, done = loaded_by(words, absent=absent)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "incprof: --method paper needs scikit-learn and kneed: pip install scikit-learn kneed\n"


def test_blas_starts_no_threads_for_an_answer(tmp_path: Path) -> None:
    words = ["phases", str(two_phase_run(tmp_path / "run"))]
    code = f"import os; from incprof.cli.main import main; main({words!r}); print(*os.listdir('/proc/self/task'))"
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()[-1].split()) == 1
    # What runs commands of the user leaves their environment as it is.
    assert set(VERBS) >= COMPUTE
    assert not COMPUTE & {*RUN_PROGRAMS, "advise", "instrument"}


def test_version() -> None:
    done = run("--version")
    assert (done.stdout, done.returncode) == (f"incprof {__version__}\n", 0)


@pytest.mark.parametrize("words", [["nonsense"], ["env", "--nonsense"], ["check"], ["record"], ["env", "--lib"]])
def test_usage_errors_take_one_line_and_exit_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("incprof")
    assert captured.err.count("\n") == 1


def test_a_long_argument_is_shortened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["phases", str(tmp_path / ("a" * 9000))]) in (1, 4)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("incprof: ")
    assert "a...a" in line
    assert len(line) < 6100


@pytest.mark.parametrize(
    ("error", "line", "status"),
    [
        (IncprofError("it is broken"), "incprof: it is broken\n", 1),
        (UsageError("no"), "incprof: no\n", 2),
        (GateError("too slow"), "incprof: too slow\n", 3),
        (GateError("too slow", "too long\n"), "incprof: too slow\nincprof: too long\\n\n", 3),
        (NoDataError("empty"), "incprof: empty\n", 4),
        (PartialDataError("torn"), "incprof: torn\n", 5),
        (FileNotFoundError(2, "No such file or directory", "run"), "incprof: run: No such file or directory\n", 1),
        (OSError("odd"), "incprof: odd\n", 1),
        (KeyboardInterrupt(), "", 130),
    ],
)
def test_exceptions_become_exit_codes(
    error: BaseException, line: str, status: int, broken_verb, capsys: pytest.CaptureFixture[str]
) -> None:
    broken_verb(error)
    assert cli.main(["env"]) == status
    assert capsys.readouterr().err == line


def test_an_unforeseen_exception_takes_one_line(broken_verb, capsys: pytest.CaptureFixture[str]) -> None:
    broken_verb(ZeroDivisionError("two\nlines"))
    assert cli.main(["env"]) == 1
    said = capsys.readouterr().err
    assert said == ("incprof: internal error: ZeroDivisionError: two lines; run again with --debug for the traceback\n")


@pytest.mark.parametrize("words", [["--debug", "env"], ["env", "--debug"]])
def test_debug_shows_the_traceback(words: list[str], broken_verb, capsys: pytest.CaptureFixture[str]) -> None:
    broken_verb(NoDataError("empty"))
    assert cli.main(words) == 4
    assert "Traceback" in capsys.readouterr().err


def test_debug_after_the_dashes_belongs_to_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["record", "--rate", "x", "--", "app", "--debug"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    source, sink = os.pipe()
    os.close(source)
    done = subprocess.run(
        [sys.executable, "-m", "incprof", "env"], stdout=sink, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(sink)
    assert (done.stderr, done.returncode) == ("", 141)


@pytest.mark.parametrize(
    "words",
    [
        "phases {0}",
        "top {0} --once",
        pytest.param("diff {0} {0}", marks=pytest.mark.slow),
        pytest.param("export {0} --format csv", marks=pytest.mark.slow),
    ],
)
def test_the_reader_may_close_the_pipe(words, tmp_path):
    """As a program ends that the signal ends, and without a word."""
    run = two_phase_run(tmp_path / "run")
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "incprof", *words.format(run).split()]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True, timeout=600, check=False)
    os.close(theirs)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "error" in line]) == (141, [])
