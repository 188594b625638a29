"""Functions of Python in a recording: their names, and the lines of their code, with Python itself as the oracle."""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType

import pytest

from incprof.model import Code
from incprof.model.names import parse
from incprof.safe.jsonstore import JsonStore
from incprof.symbols import python_code
from incprof.symbols.modules import parse_map
from incprof.symbols.python_code import KeptLoops, display_name, label, line_at, loops_of, mangled_name

VERSION = sys.version_info[0] << 8 | sys.version_info[1]
SOURCE = '''
def first(n):
    total = 0
    for i in range(n):
        total += (
            i * i
            + n
        )

    while total > 3:
        total -= 1
    return [x for x in range(total)]


class Outer:
    """One."""

    @property
    @staticmethod
    def second():
        try:
            raise ValueError(
                "x"
            )
        except ValueError:
            return lambda: 3
'''


def codes(text: str) -> list[CodeType]:
    found = [compile(text, "run.py", "exec")]
    for code in found:
        found += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return found


def test_lines_equal_those_of_python() -> None:
    for code in codes(SOURCE) + codes(Path(__file__).read_text()):
        known = Code(code.co_qualname, code.co_firstlineno, VERSION, code.co_linetable)
        for start, _, line in code.co_lines():
            if line is not None:
                assert line_at(known, start) == line, (code.co_qualname, start)


def test_lines_of_older_versions() -> None:
    # As Python 3.9 and 3.10 compiled `def f(a):`, `x = a`, blank, `return x` from line 7 on.
    assert [line_at(Code("f", 7, 0x309, bytes([0, 1, 4, 2])), at) for at in (0, 2, 4, 6)] == [8, 8, 10, 10]
    assert [line_at(Code("f", 7, 0x30A, bytes([4, 1, 4, 2])), at) for at in (0, 2, 4, 6)] == [8, 8, 10, 10]
    assert line_at(Code("f", 7, 0x30A, bytes([2, 1, 2, 128, 2, 255])), 4) == 7
    assert line_at(Code("f", 7, VERSION, b""), 4) == 7


def test_loops(tmp_path: Path) -> None:
    file = tmp_path / "run.py"
    file.write_text(SOURCE)
    by_name = {code.co_qualname: code for code in codes(SOURCE)}
    of = {
        name: loops_of(str(file), Code(name, code.co_firstlineno, VERSION, code.co_linetable))
        for name, code in by_name.items()
    }
    assert of["first"] == ((5, 8), (10, 11), (12, 12))
    assert of["Outer.second"] == ()
    assert of["<module>"] == ()
    assert loops_of(str(file), Code("first", 3, VERSION, b"")) is None
    assert loops_of(str(tmp_path / "none.py"), Code("first", 2, VERSION, b"")) is None


@pytest.mark.parametrize(
    ("file", "name", "shown", "own"),
    [
        ("/home/me/run.py", "Solver.step", "run.py:Solver.step", "run.py:Solver.step"),
        ("/home/me/mesh/__init__.py", "read", "mesh/__init__.py:read", "mesh/__init__.py:read"),
        ("<frozen importlib._bootstrap>", "_load", "importlib:_load", "<frozen importlib._bootstrap>:_load"),
        ("run.py", "f.<locals>.<lambda>", "run.py:f.<lambda>", "run.py:f.<locals>.<lambda>@12"),
    ],
)
def test_names(file: str, name: str, shown: str, own: str) -> None:
    code = Code(name, 12, VERSION, b"")
    assert (display_name(file, code), mangled_name(file, code)) == (shown, own)
    assert parse(shown).written == shown
    assert label(file) in own


def test_map_of_made_code() -> None:
    table = parse_map(b"1000 20 first\n0x1020 0x10 second one\nnonsense\n1000 30 third\n2000 0 nothing\n")
    import numpy as np

    found = table.find(np.array([0x1000, 0x101F, 0x1025, 0x1FFF], dtype=np.uint64)).tolist()
    assert [table.name(i) if i >= 0 else None for i in found] == ["third", "third", "second one", None]


def test_loops_are_kept_until_the_file_changes(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "run.py"
    source.write_text("@cached(lambda: 1)\ndef f():\n    while busy():\n        step()\n")
    code = Code("f", 1, VERSION, b"")

    def kept() -> KeptLoops:
        return KeptLoops(JsonStore(str(tmp_path), "symbols/python-loops.json", 1))

    first = kept()
    assert first.of(str(source), code) == ((3, 4),)
    first.save()
    monkeypatch.setattr(python_code, "loops_of", lambda *_: ((7, 7),))
    assert kept().of(str(source), code) == ((3, 4),)
    source.write_text("\n" + source.read_text())
    assert kept().of(str(source), code) == ((7, 7),)
