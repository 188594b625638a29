"""`incprof env`: each value names files that exist, and flags that exclude each other are refused."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from incprof.cli.main import main


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["env", *words]) == 0
    return capsys.readouterr().out.strip()


def test_the_shell_lines_set_what_a_recording_needs(capsys, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", "libother.so")
    lines = [shlex.split(line) for line in printed(capsys, "--memory").splitlines()]
    assert {words[0] for words in lines} == {"export"}
    variables = dict(words[1].split("=", 1) for words in lines)
    entries = variables["LD_PRELOAD"].replace(":", " ").split()
    assert next(Path(entry).name for entry in entries if entry != "libother.so") == "libincprof.so"
    assert "libother.so" in entries
    assert printed(capsys, "--preload", "--memory") == variables["LD_PRELOAD"]
    assert printed(capsys, "--libpath") == entries[0]
    assert Path(entries[0]).is_file()


def test_the_directories_hold_the_files_for_pkg_config_and_cmake(capsys):
    assert (Path(printed(capsys, "--pkgconfig")) / "appekg.pc").is_file()
    assert (Path(printed(capsys, "--cmake")) / "appekgConfig.cmake").is_file()


def test_the_flags_name_the_header_and_the_library(capsys):
    words = shlex.split(printed(capsys, "--cflags", "--libs"))
    assert any((Path(word[2:]) / "appekg.h").is_file() for word in words if word.startswith("-I"))
    assert any(list(Path(word[2:]).glob("libappekg.so")) for word in words if word.startswith("-L"))
    assert any(Path(word).name == "libappekg.a" for word in shlex.split(printed(capsys, "--libs", "--static")))


@pytest.mark.parametrize("words", [["--static"], ["--fc", "gfortran"], ["--cflags", "--libpath"]])
def test_flags_that_exclude_each_other_are_refused(words, capsys):
    assert main(["env", *words]) == 2
    assert capsys.readouterr().err.startswith("incprof: ")


def test_a_compiler_that_is_missing_gets_a_line(capsys):
    assert main(["env", "--fflags", "--fc", "no-such-compiler"]) == 1
    assert "no-such-compiler" in capsys.readouterr().err
