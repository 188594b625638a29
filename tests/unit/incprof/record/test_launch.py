"""Settings and their sources, the library's place, and the environment of a recording."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from incprof.errors import IncprofError, UsageError
from incprof.record import launch
from incprof.record.settings import resolve
from incprof.safe import installation


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to work in, and a configuration directory, both empty."""
    (tmp_path / "work").mkdir()
    (tmp_path / "config" / "incprof").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def environ(home: Path, **variables: str) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(home / "config"), **variables}


def test_nothing_given_sets_nothing(home: Path) -> None:
    assert resolve({}, environ(home)) == {}


def test_the_nearest_source_wins(home: Path) -> None:
    user, project = home / "config/incprof/config.toml", home / "work/incprof.toml"
    user.write_text("[record]\ninterval = 4\n")
    assert resolve({}, environ(home)) == {"INCPROF_INTERVAL": "4"}
    project.write_text("[record]\ninterval = 3\n")
    assert resolve({}, environ(home)) == {"INCPROF_INTERVAL": "3"}
    assert resolve({}, environ(home, INCPROF_INTERVAL="2")) == {"INCPROF_INTERVAL": "2"}
    assert resolve({"interval": "1"}, environ(home, INCPROF_INTERVAL="2")) == {"INCPROF_INTERVAL": "1"}


def test_files_add_up(home: Path) -> None:
    (home / "config/incprof/config.toml").write_text("[record]\nrate = 250\nfollow = false\n")
    (home / "work/incprof.toml").write_text("[record]\nranks = [0, '4-7']\nclock = 'perf'\n")
    assert resolve({}, environ(home)) == {
        "INCPROF_RATE": "250",
        "INCPROF_FOLLOW": "0",
        "INCPROF_RANKS": "0,4-7",
        "INCPROF_CLOCK": "perf",
    }


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("interval", "0"),
        ("interval", "0.0001"),
        ("interval", "one"),
        ("interval", "nan"),
        ("interval", "inf"),
        ("interval", "86401"),
        ("rate", "-5"),
        ("rate", "1e9"),
        ("clock", "wall"),
        ("format", "json"),
        ("ranks", "0,"),
        ("ranks", "every:0"),
        ("ranks", "per-node"),
        ("ranks", "10%"),
        ("ranks", "a-b"),
        ("follow", "maybe"),
        ("libs", "all"),
        ("log", "loud"),
        ("dir", ""),
    ],
)
def test_a_bad_value_is_named_with_its_source(home: Path, setting: str, value: str) -> None:
    with pytest.raises(UsageError, match="is wrong, expected") as caught:
        resolve({setting: value}, environ(home))
    assert str(caught.value).startswith("--")
    assert repr(value) in str(caught.value)


def test_bad_values_from_elsewhere(home: Path) -> None:
    with pytest.raises(UsageError, match=r"^INCPROF_RATE: 'fast' is wrong"):
        resolve({}, environ(home, INCPROF_RATE="fast"))
    (home / "work/incprof.toml").write_text("[record]\nrate = 'fast'\n")
    with pytest.raises(UsageError, match=r"^incprof.toml: record.rate: 'fast' is wrong"):
        resolve({}, environ(home))


@pytest.mark.parametrize(
    ("text", "message"),
    [("[record\n", "not valid TOML"), ("[record]\nrat = 1\n", "unknown setting record.rat"), ("record = 1\n", "table")],
)
def test_a_bad_file_is_named(home: Path, text: str, message: str) -> None:
    (home / "work/incprof.toml").write_text(text)
    with pytest.raises(UsageError, match=f"^incprof.toml: .*{message}"):
        resolve({}, environ(home))


def test_numbers_reach_the_collector_as_plain_decimals(home: Path) -> None:
    assert resolve({"interval": "1e-2", "rate": "1E3"}, environ(home)) == {
        "INCPROF_INTERVAL": "0.01",
        "INCPROF_RATE": "1000",
    }


def test_a_relative_run_directory_stays_where_the_user_is(home: Path) -> None:
    assert resolve({"dir": "out"}, environ(home)) == {"INCPROF_DIR": str(home / "work/out")}
    assert resolve({}, environ(home, INCPROF_DIR="out")) == {"INCPROF_DIR": "out"}


@pytest.mark.parametrize(
    ("existing", "value"),
    [("", "/x/l.so"), ("a.so:b.so", "/x/l.so:a.so:b.so"), ("a.so b.so", "/x/l.so:a.so:b.so"), ("/x/l.so", "/x/l.so")],
)
def test_what_is_preloaded_already_stays(existing: str, value: str) -> None:
    assert launch.preload_value(Path("/x/l.so"), existing) == value


@pytest.mark.parametrize("path", ["/a b/l.so", "/a:b/l.so"])
def test_paths_that_ld_preload_cannot_hold_are_refused(path: str) -> None:
    with pytest.raises(IncprofError, match="INCPROF_LIB"):
        launch.preload_value(Path(path), "")


def test_the_library_can_be_given(tmp_path: Path) -> None:
    library = tmp_path / "mine.so"
    with pytest.raises(IncprofError, match="no such file"):
        launch.find_library({"INCPROF_LIB": str(library)})
    library.touch()
    assert launch.find_library({"INCPROF_LIB": str(library)}) == library


def test_no_library_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "candidates", lambda *_: iter([Path("/nowhere/libincprof.so")]))
    with pytest.raises(IncprofError, match="install incprof again"):
        launch.find_library({})


def test_the_installed_library_is_found() -> None:
    assert launch.find_library({}).name == "libincprof.so"


@pytest.fixture(autouse=True)
def nothing_is_left_in_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def record(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**{k: v for k, v in os.environ.items() if not k.startswith("INCPROF_")}, **variables}
    command = [sys.executable, "-m", "incprof", "record", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_record_becomes_the_program() -> None:
    done = record("-r", "50", "--log", "quiet", "--", "sh", "-c", "echo $INCPROF_RATE ${LD_PRELOAD%%:*} $$; exit 7")
    rate, library, pid = done.stdout.split()
    assert (rate, Path(library).name, done.returncode, done.stderr) == ("50", "libincprof.so", 7, "")
    assert int(pid) > 0


def test_record_leaves_the_arguments_alone() -> None:
    done = record("--", "printf", "%s|", "--", "-r", "--debug", "a b", "")
    assert done.stdout == "--|-r|--debug|a b||"
    assert record("printf", "%s|", "-r", "1").stdout == "-r|1|"


def test_record_passes_a_signal_on() -> None:
    assert record("--", "sh", "-c", "kill -TERM $$").returncode == -15


def test_record_of_what_cannot_be_run(tmp_path: Path) -> None:
    assert record("--", "no-such-command").returncode == 127
    assert record("--", str(tmp_path / "none")).returncode == 127
    plain = tmp_path / "plain"
    plain.write_text("#!/nowhere/interpreter\n")
    done = record("--", str(plain))
    assert (done.returncode, done.stderr.count("\n")) == (126, 1)
    plain.chmod(0o755)
    done = record("--", str(plain))
    assert (done.returncode, done.stderr) == (127, f"incprof: {plain}: its interpreter was not found\n")


def test_a_bare_name_is_not_taken_from_the_working_directory(home: Path) -> None:
    script = home / "work" / "here"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o755)
    assert record("--", "here").returncode == 127
    assert record("--", "./here").stdout == "ran\n"
