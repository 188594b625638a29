"""Names of functions: the part of a symbol's name that is written in the source, and the part that identifies it.

A name is a linker's, or a demangler's output. No name in C, C++ or Fortran contains a dot, except two kinds of
gfortran's: the rest of a symbol from the dot on is the compiler's mark of a clone, or of a part of the function that
became a function of its own. Go's names begin with their package and a dot.
"""

from __future__ import annotations

import re
import string
from functools import cache
from typing import NamedTuple

ANONYMOUS, LAMBDA, CONVERSION = "(anonymous namespace)", "lambda", "operator type"
# Entry points: gfortran and flang give a PROGRAM these names, and a main that calls it; D's compilers use the next,
# displayed as `D main`; the last is Go's.
ENTRIES = ("MAIN__", "_QQmain", "_Dmain", "D main", "main", "main.main")
# Functions of Python in which threads begin, before the one that the program has given them.
PYTHON_STARTS = tuple(f"threading.py:Thread.{name}" for name in ("_bootstrap", "_bootstrap_inner", "run"))
# Longer names are cut here.
MOST = 10_000
DEMANGLED_MARK = re.compile(r" \[clone ([^\]]*)\]")
SYMBOL = string.ascii_letters + string.digits + "_$."
# first._omp_fn.0, first.omp_outlined, .omp_outlined..3, f(int) [clone ._omp_fn.0]
REGION = re.compile(r"\.(?:_omp_fn|omp_outlined)")
PART = re.compile(r"\.(?:part|cold|_omp_fn|omp_outlined)")
# _ZGVbN2v_log: a vector variant, as all compilers name them; the prefix encodes the variant.
VECTOR = re.compile(r"_(ZGV[a-zA-Z][NM](?:\d+|x)(?:[vulRLU](?:n?\d+|s\d+)?(?:a\d+)?)+)_(?=[A-Za-z_]\w*$)(?!_Z)")
# gfortran's procedures of a submodule, and with ENTRY statements: __mesh.parts_MOD_split, master.0.solve_.
GFORTRAN = re.compile(r"__[a-z]\w*\.[a-z]\w*_MOD_\w+|master\.\d+\.[a-z]\w*_(?![^.])")
# Beginnings of the clone marks of gcc and clang in C, C++ and Fortran.
MARK = (
    r"(?:[\d_]|(?:isra|constprop|part|cold|warm|hot|split|unlikely|lto_priv|llvm|local|localalias|clone|simdclone"
    r"|omp\w*|outlined|extracted|specialized|argelim|argprom|retelim|resolver|ifunc|default|arch\w*|avx\w*|sse\w*"
    r"|ssse\w*|fma\w*|bmi\w*|popcnt|x86\w*|actor|master\.\d|destroy|resume|cleanup|variant|nonlocal|coldsplit|icf)(?![A-Za-z]))"
)
# main.work, sort.(*IntSlice).Less, example.org/a/b.Map[...]: a package, and a name in it.
GO = re.compile(rf"[a-z][\w.~%-]*/[^\s<>:(\[]*\.|[a-z]\w*\.(?:\(\*?\w|\.|(?!{MARK})[A-Za-z_])")
OPEN, CLOSE = "<({[", ">)}]"
# Unnamed functions in Rust: {closure#0}, {{closure}}, {shim:vtable#0}.
CLOSURE = re.compile(r"\{\{?(?:closure|shim)\b")
WORD = re.compile(r"[\w~]+")
# Words that a person chose, as of a marked range. A return type only comes before parameters or template arguments.
PHRASE = re.compile(r"(?!D main$)[^\s:<>()\[\]{}]+(?: [^\s:<>()\[\]{}]+)+")
OPERATOR = re.compile(
    r"operator(?!\w)\s*(\(\s*\)|\[\s*\]|->\*?|<=>|<<=?|>>=?|[-+*/%^&|!=<>]=?|&&|\|\||\+\+|--|~|,|\"\"\s*\w+"
    r"|(?:new|delete)\b(?:\s*\[\s*\])?)?"
)


class Name(NamedTuple):
    """A function's name, split into parts.

    Attributes:
        text: the name without clone marks.
        marks: the clone marks, as the linker has them: ".isra.0.cold".
        parts: components between `::`, without template arguments, parameters, qualifiers and return type; empty for a
            text that is not a name.
        starts: index in the text at which each part begins.
        end: index at which the parameters, or the call operator of a lambda, begin.
    """

    text: str
    marks: str
    parts: tuple[str, ...]
    starts: tuple[int, ...]
    end: int

    @property
    def written(self) -> str:
        """The qualified name, as it may be written in the source: `Mesh::sweep`."""
        return "::".join(self.parts) or self.text

    @property
    def last(self) -> str:
        """The function's own name: "sweep" of `double Mesh<Quad>::sweep(int) const [clone .isra.0]`."""
        return self.parts[-1] if self.parts else self.text

    @property
    def components(self) -> tuple[str, ...]:
        """The named parts."""
        return tuple(part for part in self.parts if part != ANONYMOUS)

    @property
    def bare(self) -> str:
        """The name up to its parameters: `double ns::f<int>`."""
        return self.text[: self.end]

    @property
    def own(self) -> str:
        """The name with template arguments, and with its class as the only qualifier: `Mesh<Quad>::sweep`."""
        return self.text[self.starts[-2:][0] if self.starts else 0 : self.end]


def without_marks(symbol: str) -> str:
    """Return a name without clone marks."""
    return _split(symbol)[0]


def region_of(symbol: str) -> str | None:
    """Return the function around a parallel region; "" if its name does not include it, None for other functions."""
    match = REGION.search(symbol)
    return symbol[: match.start()].removesuffix(" [clone ") if match else None


def is_entry(symbol: str) -> bool:
    """Return whether this is the program's entry function, or a part of it; a parallel region is not."""
    return without_marks(symbol) in ENTRIES and region_of(symbol) is None


def is_python_entry(name: str) -> bool:
    """Return whether this is what a script of Python begins with: its own statements, or its function `main`."""
    file, _, function = name.rpartition(":")
    return bool(file) and (function == "<module>" or (function == "main" and file.endswith(".py")))


def is_python_import(name: str) -> bool:
    """Return whether this function of Python imports modules."""
    return name.startswith("importlib:")


def starts_python_thread(name: str) -> bool:
    """Return whether threads of Python begin in this function of threading.py."""
    return name in PYTHON_STARTS


def begins_inside(symbol: str) -> bool:
    """Return whether the code was split off its function, and so begins somewhere in the middle of its source."""
    return PART.search(symbol) is not None


@cache
def parse(symbol: str) -> Name:
    """Split a name into parts, in time linear in its length."""
    text, marks = _split(symbol[:MOST])
    if _is_in_file(text) or PHRASE.fullmatch(text):
        return Name(text, marks, (text,), (0,), len(text))
    if GO.match(text):
        begin = text.rfind("/", 0, len(re.split(r"[(\[]", text, maxsplit=1)[0])) + 1
        return Name(text, marks, (text[begin:],), (begin,), len(text))
    spans, end = _parts(text)
    named = {start: part for start, part in spans.items() if part}
    if list(named.values())[-2:] == [LAMBDA, "operator()"]:
        end = named.popitem()[0] - len("::")
    return Name(text, marks, tuple(named.values()), tuple(named), end)


def _parts(text: str) -> tuple[dict[int, str], int]:
    """Return a name's parts by their start, and the start of its parameters; no parts if the text is not a name."""
    parts: dict[int, str] = {}
    now, begin, at = "", 0, 0
    while at < len(text):
        char = text[at]
        if not now and (operator := OPERATOR.match(text, at)):
            now, at = _operator(text, operator)
        elif char in OPEN:
            end = _closing(text, at)
            if char == "(" and now and now != "decltype" and end > 0 and not text.startswith("::", end):
                break  # parameters, followed only by qualifiers
            named = _enclosed(text, at, end, now)
            if named is None:
                return {}, len(text)
            now = named
            at = end
        elif now and text.startswith("::<", at):  # arguments of a generic function in Rust
            at += 2
        elif text.startswith("::", at):
            parts[begin] = now
            now, begin, at = "", at + 2, at + 2
        elif text.startswith("'lambda", at):
            now, at = LAMBDA, text.find("'", at + 1) + 1 or len(text)
        elif char.isspace():  # after a return type, or between an operator and its template arguments
            at += 1
            if not now.startswith("operator"):
                parts, now, begin = {}, "", at
        else:
            word = WORD.match(text, at)
            now, at = now + (word[0] if word else char), word.end() if word else at + 1
    return {**parts, begin: now}, at


def _enclosed(text: str, at: int, end: int, now: str) -> str | None:
    """Return the part's name after the brackets from `at` to `end`, `now` before them; None if this is not a name."""
    group = text[at:end]
    if end < 0:
        return None
    if group[0] == "<" and not now:
        return (_type(group) or None) if at == 0 and text.startswith("::", end) else None
    if group[0] == "{" and LAMBDA in group:
        return LAMBDA
    return group if group == ANONYMOUS or CLOSURE.match(group) else now


def _type(group: str) -> str:
    """Return the type in Rust's `<mesh::Quad<f64> as mesh::Shape>`: `Quad`."""
    outside, at = "", 1
    while at < len(group) - 1:
        end = _closing(group, at) if group[at] == "<" else -1
        outside, at = (outside, end) if end > 0 else (outside + group[at], at + 1)
    return outside.partition(" as ")[0].rpartition("::")[2]


def _is_in_file(symbol: str) -> bool:
    """Return whether this is the name of a Python function, as in `run.py:Solver.step`."""
    at = symbol.find(":")
    return at > 0 and symbol[at + 1 : at + 2] not in (":", "") and "(" not in symbol[:at]


def _split(symbol: str) -> tuple[str, str]:
    """Split off the marks of a clone after a name, or of a vector variant before it."""
    if _is_in_file(symbol) or GO.match(symbol):
        return symbol, ""
    if symbol.startswith("_ZGV") and (vector := VECTOR.match(symbol)):
        return symbol[vector.end() :], f".{vector[1]}"
    at = symbol.find(" [clone ", 1)
    if at > 0:
        return symbol[:at], "".join(DEMANGLED_MARK.findall(symbol, at))
    match = GFORTRAN.match(symbol)
    first = match.end() if match else max(len(symbol.rstrip(SYMBOL)), 1)
    at = -1 if symbol.startswith(".") else symbol.find(".", first)
    return (symbol[:at], symbol[at:]) if at > 0 else (symbol, "")


def _operator(text: str, match: re.Match[str]) -> tuple[str, int]:
    """Return an operator's name without optional spaces, and the index after it; all conversions get one name."""
    if match[1]:
        return re.sub(r"\s+(?=\W)", "", match[0]), match.end()
    at = match.end()
    while 0 <= at < len(text) and text[at] != "(":
        at = _closing(text, at) if text[at] in OPEN else at + 1
    return CONVERSION, at if at >= 0 else len(text)


def _closing(text: str, at: int) -> int:
    """Return the index after the bracket that closes the one at `at`; -1 if none does."""
    depth = 0
    while at < len(text):
        if text[at] in OPEN:
            depth += 1
        elif text[at] in CLOSE and text[at - 1 : at + 1] != "->":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return -1
