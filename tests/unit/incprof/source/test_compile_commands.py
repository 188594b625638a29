"""compile_commands.json, as a build writes it or hostile; and the options that are kept of a command."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incprof.errors import NoDataError
from incprof.source.compile_check import sources_that_include
from incprof.source.compile_commands import Command, compiler_words, read_commands, syntax_words

GOOD = {"directory": "build", "file": "../a.c", "command": "gcc -DNAME='a b' -c ../a.c -o a.o"}


def written(place: Path, entries: Any) -> Path:
    path = place / "compile_commands.json"
    path.write_text(entries if isinstance(entries, str) else json.dumps(entries))
    return path


def command(*words: str, directory: str = "/build") -> Command:
    return Command(directory, "/src/a.c", words)


def kept(*words: str) -> list[str]:
    found = compiler_words(command(*words))
    assert found is not None
    return syntax_words(command(*words), found[1], lambda path: "/new" + path)


def test_both_forms_of_a_command(tmp_path: Path) -> None:
    whole = {"directory": str(tmp_path / "build"), "file": str(tmp_path / "a.c"), "arguments": ["gcc", "-c", "a b.c"]}
    first, second = read_commands(written(tmp_path, [GOOD, whole]))
    place = os.path.realpath(tmp_path)
    assert first == Command(f"{place}/build", f"{place}/a.c", ("gcc", "-DNAME=a b", "-c", "../a.c", "-o", "a.o"))
    assert second.words == ("gcc", "-c", "a b.c")
    assert second.file == f"{place}/a.c"


@pytest.mark.parametrize(
    "text",
    ["", "[", "{}", "7", "[]", "[1, null]", "[" * 100_000, '[{"file": "a.c"}]', '[{"file": 1, "command": "gcc"}]'],
)
def test_what_is_no_database_is_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(NoDataError, match=r"compile_commands.json: n") as raised:
        read_commands(written(tmp_path, text))
    assert "\n" not in str(raised.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "compile_commands.json"
    path.write_bytes(b"\xff\xfe\x00[")
    with pytest.raises(NoDataError, match="no JSON"):
        read_commands(path)
    with pytest.raises(NoDataError, match="cannot be read"):
        read_commands(tmp_path / "none.json")


@pytest.mark.parametrize(
    "bad",
    [
        3,
        {},
        {"file": "b.c"},
        {"file": "b.c", "arguments": []},
        {"file": "b.c", "arguments": ["gcc", 3]},
        {"file": "b.c", "arguments": "gcc b.c"},
        {"file": "b.c", "command": "gcc 'b.c"},
        {"file": "b.c", "command": ["gcc"]},
        {"file": "b\0.c", "command": "gcc"},
        {"file": "\ud800.c", "command": "gcc"},
        {"file": "b.c", "directory": ["x"], "command": "gcc"},
    ],
)
def test_an_entry_without_sense_costs_itself(tmp_path: Path, bad: Any) -> None:
    (only,) = read_commands(written(tmp_path, [bad, GOOD]))
    assert only.file.endswith("/a.c")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["file", "directory", "command", "arguments"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(value=json_values)
def test_any_json_is_commands_or_no_data(tmp_path: Path, value: Any) -> None:
    try:
        found = read_commands(written(tmp_path, value))
    except NoDataError:
        return
    for each in found:
        compiler_words(each)
        assert os.path.isabs(each.file)
        assert all(isinstance(word, str) for word in each.words)


def test_nothing_is_written_and_places_are_moved() -> None:
    words = [
        "-O2",
        "-c",
        "-o",
        "x.o",
        "-oy.o",
        "-MD",
        "-MF",
        "d",
        "-MTx",
        "-Wp,-MD,y",
        "-save-temps=obj",
        "-I../include",
    ]
    words += ["-isystem", "/opt/x", "-DA=1", "-D", "B", "-x", "c", "-iquote.", "-J", "mods", "-std=c99", "a.c", "b.o"]
    assert kept("gcc", *words) == [
        *["-O2", "-I", "/new/include", "-isystem", "/new/opt/x", "-DA=1", "-D", "B", "-x", "c"],
        *["-iquote", "/new/build", "-I", "/new/build/mods", "-std=c99"],
    ]


@pytest.mark.parametrize("last", ["-I", "-o", "-D", "-isystem", "-include", "-x", "@none"])
def test_an_option_whose_value_is_missing(last: str) -> None:
    assert isinstance(kept("gcc", last), list)


@pytest.mark.parametrize("name", ["gcc", "/usr/bin/x86_64-linux-gnu-gcc-12", "mpicc", "clang++-14", "gfortran", "c99"])
def test_compilers(name: str) -> None:
    assert compiler_words(command(name, "a.c")) == (name, ["a.c"])
    assert compiler_words(command("/usr/bin/ccache", name, "a.c")) == (name, ["a.c"])


@pytest.mark.parametrize("name", ["rm", "sh", "/tmp/gccx", "gcc;rm", "", "ccache", "notgcc"])
def test_what_is_no_compiler_is_not_started(name: str) -> None:
    assert compiler_words(command(name, "a.c")) is None


def test_response_files(tmp_path: Path) -> None:
    (tmp_path / "one.rsp").write_text("-DONE='a b' @two.rsp\n-o x.o")
    (tmp_path / "two.rsp").write_text("-DTWO @one.rsp @none.rsp")
    found = compiler_words(command("gcc", "@one.rsp", "a.c", directory=str(tmp_path)))
    assert found is not None
    assert found[1][:2] == ["-DONE=a b", "-DTWO"]
    assert found[1][-1] == "a.c"


def test_sources_of_a_header(tmp_path: Path) -> None:
    files = {
        "inc/deep.h": "int x;",
        "inc/middle.h": ' # include "deep.h"',
        "direct.c": "#include <inc/deep.h>",
        "through.c": '#include "middle.h"\n#include "itself.h"',
        "inc/itself.h": '#include "itself.h"',
        "other.c": "int y; /* #include */",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    sources = [str(tmp_path / name) for name in ("other.c", "through.c", "direct.c")]
    found = sources_that_include("inc/deep.h", str(tmp_path), sources, 9)
    assert found == [str(tmp_path / "direct.c"), str(tmp_path / "through.c")]
    assert sources_that_include("inc/deep.h", str(tmp_path), sources, 1) == [str(tmp_path / "direct.c")]
