"""Heartbeats in Python's sources: what the program is, without them, stays what it was; and they come out again."""

from __future__ import annotations

import ast
import io
import random
import sysconfig
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.errors import NoDataError
from incprof.source.languages import language_of
from incprof.source.model import Announcement, Beat, SourceFile, insert
from incprof.source.python.definitions import parse_python
from incprof.source.python.insert_beats import difference_in_meaning, python_insertions
from incprof.source.python.lines import strip_python


class Heartbeats:
    """A stand-in for the module appekg: records which beats began and ended, and their names."""

    def __init__(self) -> None:
        self.open: list[int] = []
        self.count: dict[int, int] = {}
        self.names: dict[int, str] = {}

    def beat(self, number: int) -> Heartbeats:
        self.next = number
        return self

    def __enter__(self) -> None:
        self.open.append(self.next)
        self.count[self.next] = self.count.get(self.next, 0) + 1

    def __exit__(self, *exception: object) -> None:
        self.open.pop()

    def name(self, number: int, text: str) -> None:
        self.names[number] = text

    def rate(self, number: int, factor: int) -> None:
        pass


def everywhere(file: SourceFile) -> list[Beat]:
    """A beat at each place that takes one."""
    places: list[tuple[int, int | None]] = []
    for at, function in enumerate(file.functions):
        places += [] if function.refusal else [(at, None)]
        places += [(at, number) for number, loop in enumerate(function.loops) if not loop.refusal]
    return [Beat(number, *place) for number, place in enumerate(places, 1)]


def patched(data: bytes, beats: list[Beat] | None = None) -> bytes:
    file = parse_python("x.py", data)
    beats = everywhere(file) if beats is None else beats
    return insert(
        data, python_insertions(file, beats, [Announcement(b.id, f'"é\\ {b.id}"', 1 + b.id % 2) for b in beats])
    )


def without_beats(data: bytes) -> str:
    """The syntax tree of a file that had no `appekg` in it, without what has one."""

    class Without(ast.NodeTransformer):
        def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
            self.generic_visit(node)
            return node.body if "appekg" in ast.unparse(node.items[0]) else node

        def visit_Import(self, node: ast.Import) -> ast.AST | None:
            return None if node.names[0].name == "appekg" else node

        def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
            return None if ast.unparse(node).startswith("appekg.") else node

    return ast.dump(Without().visit(ast.parse(data)))


def check(data: bytes) -> bytes:
    """Patch everything, and look at it; the patched bytes."""
    new = patched(data)
    assert without_beats(new) == ast.dump(ast.parse(data))
    compile(new, "x.py", "exec", dont_inherit=True)
    assert strip_python(new) == data
    assert strip_python(data) == data
    return new


def ran(data: bytes) -> tuple[str, Heartbeats]:
    """What a program prints, and its heartbeats."""
    beats, out = Heartbeats(), io.StringIO()
    text = data.replace(b"import appekg  # incprof", b"pass")
    with redirect_stdout(out):
        exec(compile(text, "x.py", "exec", dont_inherit=True), {"appekg": beats, "__name__": "x"})
    return out.getvalue(), beats


PROGRAM = b'''#!/usr/bin/env python3
# -*- coding: utf-8 -*-
"""Doc
    of the module."""
from __future__ import annotations
import sys

# A remark.
CONST = """
  kept
"""


def one(a, b=(1,
              2)):  # type: (int, tuple) -> int
    # type: ignore
    """Its doc
      is long."""
    # before
    text = """first
second
    third"""
    total = (a +
  b[0])
    if total: print(text, one.__doc__)
    total = total \\
        # nothing more
    return total  # done
    # behind


def short(): return [x for x in range(3)]
def other(a): a = a + 1; return a
def split(): \\
    return 1
for i in range(2): print(i, short(), other(i), split())
else:
    print("else")


class Solver:
    @staticmethod
    def step(n):
        def inner(k):
            while k > 0:
                k -= 1
                if k == 2:
                    continue
                print("k", k, \\
   sep="-")
        for _ in range(n):

# at the left

            inner(n)
            try:
                raise ValueError(n)
            except ValueError as error:
                for c in str(error): print(c)
            finally:
                pass
        return lambda: n

    async def wait(self): await self.nothing()


def pieces():
    for i in range(3):
        yield i


print(one(1), Solver.step(3)(), list(pieces()))
'''


def test_a_program_prints_the_same_and_beats() -> None:
    new = check(PROGRAM)
    (before, _), (after, beats) = ran(PROGRAM), ran(new)
    assert after == before
    assert not beats.open
    names = [f.name for f in parse_python("x.py", PROGRAM).functions]
    assert names[0] == "<module>"
    assert {"Solver.step.inner", "Solver.step.<lambda>"} <= set(names)
    numbers = {(names[beat.function], beat.loop): beat.id for beat in everywhere(parse_python("x.py", PROGRAM))}
    assert beats.count[numbers["one", None]] == 1
    assert beats.count[numbers["<module>", 0]] == 2
    assert beats.count[numbers["Solver.step.inner", 0]] == 9
    assert beats.names[1] == '"é\\ 1"'


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"\n", b"\r"),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"utf-8", b"latin-1").replace(
            b"# A remark.", b"for c in '\xe9\xe8'.split('\xe9'): print(c)"
        ),
        lambda data: data.replace(b"        ", b"\t\t").replace(b"    ", b"\t"),
        lambda data: data.rstrip(b"\n"),
        lambda data: b"\n\x0c\n" + data.replace(b"\n\n\n", b"\n\x0c\n"),
    ],
)
def test_however_a_file_is_written(change: Callable[[bytes], bytes]) -> None:
    data = change(PROGRAM)
    assert ran(check(data))[0] == ran(data)[0]


def test_what_is_put_in() -> None:
    data = b'"""Doc."""\nimport sys\n\n\ndef f(a):\n    """Doc."""\n    return a\n\n\ndef g(): return 1\n'
    file = parse_python("x.py", data)
    found = python_insertions(file, [Beat(1, 1), Beat(2, 2)], [Announcement(1, "x.py:f:body", 10)])
    assert insert(data, found).decode() == (
        '"""Doc."""\nimport sys\nimport appekg  # incprof\nappekg.name(1, "x.py:f:body")  # incprof\n'
        'appekg.rate(1, 10)  # incprof\n\n\ndef f(a):\n    """Doc."""\n    with appekg.beat(1):  # incprof\n'
        "        return a\n\n\ndef g():  # incprof\n    with appekg.beat(2): return 1\n"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def f():\n    yield 1", "generator"),
        ("def f():\n    for x in y:\n        await_(x)\n    z = yield", "generator"),
        ("async def f():\n    yield 1", "generator"),
        ("def f():\n    'doc'", "does nothing"),
        ("def f(): 'doc'; g()", "docstring shares"),
        ("@numba.njit(parallel=True)\ndef f():\n    g()", "compiles it"),
        ("@jit\ndef h():\n    def f():\n        g()\n    f()", "compiles it"),
        ("appekg = 3\ndef f():\n    g()", "uses the name appekg"),
        ("def f(appekg):\n    g()", "uses the name appekg"),
        ("def f():\n\x0c    g()", "form feed"),
        ("f = lambda: 1", "no statements"),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    function = next(x for x in parse_python("x.py", text.encode()).functions if x.name.endswith(("f", "<lambda>")))
    assert function.refusal
    assert why in function.refusal


def test_waiting_or_compiled_functions_are_not_refused() -> None:
    text = b"import appekg\nasync def f():\n    await g()\n@np.vectorize\ndef h(a):\n    return a\n"
    assert [x.refusal for x in parse_python("x.py", text).functions[1:]] == [None, None]


def test_a_loop_too_short_for_a_beat() -> None:
    text = b"".join(
        b"for i in x:\n    %b\n" % each for each in (b"t += i", b"t += f(i)", b"u[1:] = u", b"while i: i -= 1")
    )
    assert [loop.busy for loop in parse_python("x.py", text).functions[0].loops] == [False, True, True, True, False]


def test_code_that_this_python_cannot_read_is_one_line() -> None:
    with pytest.raises(NoDataError, match=r"^x\.py: Python 3\.\d+\.\d+ cannot read it, line 1: "):
        parse_python("x.py", b"print 'hello'\n")
    assert strip_python(b"print 'hello'\n") == b"print 'hello'\n"


def test_what_others_write_meanwhile_stays() -> None:
    data = b"import sys\n\n\ndef f(a):\n    b = a\n    return b\n"
    new = patched(data)
    edited = new.replace(b"        return b", b"        # more\n        b += 1\n\n        return b").replace(
        b"sys", b"os"
    )
    assert strip_python(edited) == data.replace(b"    return b", b"    # more\n    b += 1\n\n    return b").replace(
        b"sys", b"os"
    )


def test_texts_like_ours_in_strings_stay() -> None:
    quoted = (
        b'X = """\nimport appekg  # incprof\n    with appekg.beat(3):  # incprof\n        a\ndef f():  # incprof\n"""\n'
    )
    own = b"import appekg\n\n\ndef f():\n    with appekg.beat(3): g()\n    with appekg.beat(4):\n        g()\n"
    check(quoted + b"def f():\n    return X\n")
    for data in (quoted, own):
        assert strip_python(data) == data
    file = parse_python("x.py", own)
    new = insert(own, python_insertions(file, [Beat(1, 1)], []))
    assert strip_python(new) == own


def test_a_change_of_docstrings_is_noticed() -> None:
    old = b'def f():\n    return """\na"""\n'
    wrong = b'def f():\n    with appekg.beat(1):  # incprof\n        return """\n    a"""\n'
    assert difference_in_meaning(old, wrong)
    assert difference_in_meaning(old, patched(old)) is None


def test_which_files_are_python() -> None:
    assert language_of("a/run.py", b"") == "python"
    assert language_of("bin/run", b"#!/usr/bin/env python3\nx") == "python"
    assert language_of("bin/run", b"#!/bin/sh\n# python\n") is None


@pytest.mark.parametrize("count", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_real_modules(count: int) -> None:
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    for path in random.Random(0).sample(files, count):
        check(path.read_bytes())


LINE = st.sampled_from(
    [
        "x = 1", "f(x,\n y)", 's = """a\n  b\n"""', "# remark", "", "return x", "a = 1; b = 2", "y = f'{x}' \\\n 'z'",
        "    # deep", "def g(): return 1", "for q in f(x): f(q)", "pass", "d = {\n'k': [1,\n2],\n}",
        "'''one''' '''\n two'''",
    ]
)  # fmt: skip
HEAD = st.sampled_from(
    [
        "def g(a, b):", "for i in f(3):", "while f(x):", "if x:", "class C:", "with f(x):", "try:", "async def h():",
        "@f\ndef k(\n  a):",
    ]
)  # fmt: skip
UNIT = st.sampled_from(["    ", "\t", "  ", " "])


@st.composite
def block(draw: st.DrawFn, depth: int, inside: bool) -> list[str]:
    """Lines of statements, indented by their parent; lines of a string or in brackets have none."""
    found: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        if depth and draw(st.booleans()):
            head, unit = draw(HEAD), draw(UNIT)
            held = draw(block(depth - 1, inside or "def" in head))
            first, *rest = head.split("\n")
            found += [first, *(f"\0{one}" if not one.startswith("def") else one for one in rest)]
            found += [one if one.startswith("\0") or not one else unit + one for one in held]
            found += ["finally:", unit + "pass"] if head == "try:" else []
        else:
            first, *rest = draw(LINE.filter(lambda text: inside or text != "return x")).split("\n")
            found += [first, *(f"\0{one}" for one in rest)]
    return [*found, "pass"]


@settings(deadline=None, max_examples=150)
@given(block(3, False), st.sampled_from(["\n", "\r\n"]))
def test_generated_programs(lines: list[str], ending: str) -> None:
    data = ending.join(line.removeprefix("\0") for line in [*lines, ""]).encode()
    try:
        compile(data, "x.py", "exec", dont_inherit=True)
    except SyntaxError:
        return
    check(data)
