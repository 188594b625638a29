"""Changed files tried with the build's own compile commands, and with a command of the user's, beside the tree."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from incprof.errors import UsageError
from incprof.source import source_tree
from incprof.source.compile_check import check_command, syntax_check
from incprof.source.compile_commands import Command
from tests.paths import ROOT

FILES = {
    "src/a.c": '#include "b.h"\n#include "far.h"\nint f(void) { return B + FAR; }\n',
    "src/b.h": "#define B 1\nstatic inline int in_b(void) { return 1; }\n",
    "include/far.h": '#include "../src/near.h"\n#define FAR NEAR\n',
    "src/near.h": "#define NEAR 2\n",
    "src/alone.h": "int alone(void);\n",
    "src/broken.c": "int g(void) { return nothing; }\n",
    "src/m.f90": "module m\ncontains\nsubroutine s(x)\nreal :: x\nx = 1\nend subroutine\nend module\n",
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source tree, and a place for scratch directories in which nothing may be left."""
    for name, text in FILES.items():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text(text)
    (tmp_path / "tree" / ".git").mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path / "tree"


def listing(tree: Path) -> dict[str, bytes]:
    return {str(path.relative_to(tree)): path.read_bytes() for path in sorted(tree.rglob("*")) if path.is_file()}


def compiled(tree: Path, name: str, *words: str, directory: str = "build") -> Command:
    place = tree / directory
    place.mkdir(exist_ok=True)
    compiler = "gfortran" if name.endswith("f90") else "gcc"
    out = [compiler, *words, "-c", os.path.relpath(tree / name, place), "-o", "out.o", "-Wall", "-Werror", "-MD"]
    return Command(str(place), str(tree / name), tuple(out if compiler == "gcc" else out[:-1]))


def new(name: str, text: str) -> dict[str, bytes]:
    return {name: (FILES[name] + text).encode()}


@pytest.fixture(autouse=True)
def nothing_is_left(tree: Path, tmp_path: Path) -> object:
    yield
    assert list((tmp_path / "tmp").iterdir()) == []


def test_what_compiles_is_fine_and_nothing_is_written(tree: Path) -> None:
    command = compiled(tree, "src/a.c", "-I../include")
    before = listing(tree)
    found = syntax_check(tree, new("src/a.c", "int h(void) { return 3; }\n"), [command])
    assert (found.errors, found.unchecked) == ((), ())
    assert listing(tree) == before


def test_an_error_is_reported_with_its_line(tree: Path) -> None:
    found = syntax_check(tree, new("src/a.c", "int h(void) { return }\n"), [compiled(tree, "src/a.c", "-I../include")])
    ((path, message),) = found.errors
    assert path == "src/a.c"
    assert message.startswith("src/a.c:4: expected expression")
    assert found.unchecked == ()


@pytest.mark.parametrize("header", ["src/b.h", "include/far.h", "src/near.h"])
def test_a_header_is_read_through_its_sources(tree: Path, header: str) -> None:
    command = compiled(tree, "src/a.c", "-I../include")
    assert syntax_check(tree, new(header, "#define OTHER 1\n"), [command]).errors == ()
    assert syntax_check(tree, new(header, "#define OTHER 1\n"), [command]).unchecked == ()
    ((path, message),) = syntax_check(tree, new(header, "wrong here;\n"), [command]).errors
    assert path == header
    assert message.startswith(f"{header}:{FILES[header].count(chr(10)) + 1}: ")


def test_files_that_are_never_compiled_are_reported(tree: Path) -> None:
    found = syntax_check(tree, new("src/alone.h", "wrong here;\n"), [compiled(tree, "src/a.c", "-I../include")])
    assert found.errors == ()
    assert found.unchecked == (("src/alone.h", "no compile command reads it"),)


def test_a_file_that_was_broken_before_is_not_our_doing(tree: Path) -> None:
    found = syntax_check(tree, new("src/broken.c", "int h(void) { return 3; }\n"), [compiled(tree, "src/broken.c")])
    assert found.errors == ()
    ((path, reason),) = found.unchecked
    assert path == "src/broken.c"
    assert reason.startswith("it does not compile without heartbeats either: src/broken.c:1: ")


def test_a_command_that_is_no_compiler_is_not_run(tree: Path, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    found = syntax_check(tree, new("src/a.c", ""), [Command(str(tree), str(tree / "src/a.c"), ("touch", str(witness)))])
    assert found.unchecked == (("src/a.c", "touch: not a known compiler"),)
    assert not witness.exists()


def test_absolute_paths_and_a_build_outside_the_tree(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    words = ("gcc", f"-I{tree}/include", "-c", f"{tree}/src/a.c")
    changed = new("src/near.h", "wrong here;\n")
    ((path, _),) = syntax_check(tree, changed, [Command(str(tmp_path / "out"), f"{tree}/src/a.c", words)]).errors
    assert path == "src/near.h"
    assert list((tmp_path / "out").iterdir()) == []


def test_flags_are_added(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "appekg.h").write_text("int ekg;\n")
    changed, command = new("src/a.c", "#include <appekg.h>\n"), compiled(tree, "src/a.c", "-I../include")
    assert syntax_check(tree, changed, [command]).errors != ()
    assert syntax_check(tree, changed, [command], c_flags=[f"-I{tmp_path}/more"]).errors == ()


def test_fortran_writes_its_modules_elsewhere(tree: Path) -> None:
    if shutil.which("gfortran") is None:
        pytest.skip("gfortran is not installed")
    command = compiled(tree, "src/m.f90", "-J", ".")
    before = listing(tree)
    assert syntax_check(tree, new("src/m.f90", "! more\n"), [command]).errors == ()
    changed = {"src/m.f90": FILES["src/m.f90"].replace("x = 1", "x = 1\nreal :: y").encode()}
    ((path, message),) = syntax_check(tree, changed, [command]).errors
    assert path == "src/m.f90"
    assert message.startswith("src/m.f90:6: Unexpected data declaration statement")
    assert listing(tree) == before


def test_a_command_sees_the_change_and_cannot_touch_the_tree(tree: Path) -> None:
    (tree / "link.c").symlink_to(tree / "src" / "a.c")
    (tree / "dir").symlink_to(tree / "src")
    before = listing(tree)
    changed = new("src/a.c", "int changed;\n")
    command = "grep -q changed src/a.c && test ! -e .git && echo x > src/b.h && echo y >> link.c && echo z > dir/new"
    assert check_command(tree, changed, command) is None
    assert listing(tree) == before


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo one; echo two >&2; echo; exit 3", "exit code 3: two"),
        ("exit 1", "exit code 1, without output"),
        (r"printf '\033[31mred\033[0m\377\n'; false", "exit code 1: red\ufffd"),
        ("kill -9 $$", "ended by signal 9, without output"),
        ("yes | head -c 9000000; echo end; false", "exit code 1: end"),
    ],
)
def test_a_command_that_fails(tree: Path, command: str, said: str) -> None:
    assert check_command(tree, {}, command) == f"{command}: {said}"


def test_a_command_that_does_not_end_is_ended_with_its_children(tree: Path, tmp_path: Path) -> None:
    command = f"sleep 600 & chmod 500 src; echo $! > {tmp_path}/child; wait"
    # Where the command has not even come to its last line by then, the machine is busy: it has longer.
    for seconds in (0.5, 5, 50, 500):
        assert check_command(tree, {}, command, timeout_s=seconds) == f"{command}: not done after {seconds:g} s"
        if (tmp_path / "child").exists() and (tmp_path / "child").read_text().endswith("\n"):
            break
    child = int((tmp_path / "child").read_text())
    for _ in range(12_000):
        if not os.path.exists(f"/proc/{child}") or "Z" in Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1][:3]:
            return
        time.sleep(0.05)
    raise AssertionError("the child is still there")


def test_a_check_that_is_ended_leaves_nothing(tree: Path, tmp_path: Path) -> None:
    program = f"import tempfile; tempfile.tempdir = {str(tmp_path / 'tmp')!r}\n" + (
        "from pathlib import Path\nfrom incprof.source.compile_check import check_command\n"
        f"check_command(Path({str(tree)!r}), {{}}, 'echo > {tmp_path}/started; sleep 600')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    while not (tmp_path / "started").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait(600) == 128 + signal.SIGTERM


def test_a_tree_that_is_too_large(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_tree, "MOST_FILES", 3)
    with pytest.raises(UsageError, match="more than 3 files"):
        check_command(tree, {}, "true")
    monkeypatch.setattr(source_tree, "MOST_FILES", 100)
    monkeypatch.setattr(source_tree, "MOST_BYTES", 50)
    with pytest.raises(UsageError, match="check a smaller tree"):
        check_command(tree, {}, "true")


def test_a_place_for_scratch_inside_the_tree(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tree / "tmp"))
    assert check_command(tree, {}, 'test -d tmp && test -z "$(ls tmp)"') is None
    assert list((tree / "tmp").iterdir()) == []
