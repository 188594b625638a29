"""Whether the name of a function in a binary and the name of one in a source file mean the same function."""

from __future__ import annotations

import re

from incprof.source.model import Language

CLONE = re.compile(r"\s*\[clone [^\]]*\]")
# flang's names: _QMmodulePprocedure, _QFhostPinner, _QQmain.
FLANG = re.compile(r"_Q\w*P([a-z0-9_]+)")
FORTRAN_MAIN = ("MAIN__", "_QQmain", "main")
# What clang calls the code of a parallel region.
OUTLINED = (".omp_outlined", "__captured_stmt")
OPEN, CLOSE = "<({[", ">)}]"
LAMBDA = "lambda"
WORD = re.compile(r"\w+")
OPERATOR = re.compile(
    r"operator\s*(\(\s*\)|\[\s*\]|->\*?|<=>|<<=?|>>=?|[-+*/%^&|!=<>]=?|&&|\|\||\+\+|--|~|,|\"\"\s*\w+)"
)
MOST = 10_000


def agree(recorded: str, written: str, language: Language, *, is_main: bool = False) -> bool:
    """Tell whether a function's name in the binary is that of a function in the source.

    recorded: as the demangler spells it, or mangled where it cannot. written: SourceFunction.name. Compares what comes
    after the last `::`, without template arguments, parameters and suffixes of clones.
    """
    if recorded.startswith(OUTLINED):
        return True
    if language in ("fortran", "fixed"):
        if is_main:
            return recorded.split(".")[0] in FORTRAN_MAIN
        match = FLANG.fullmatch(recorded)
        name = match[1] if match else last_name(recorded)
        return name.lower() == last_name(written).lower()
    name, own = last_name(recorded), last_name(written)
    return name == own or (own == LAMBDA and name == "operator()")


def last_name(name: str) -> str:
    """The last part of a function's name: "sweep" of `double Mesh<Quad>::sweep(int) const [clone .isra.0]`."""
    name = CLONE.sub("", name[:MOST])
    if WORD.fullmatch(name.split(".")[0]):
        return name.split(".")[0]
    parts = _parts(name)
    last = parts[-1] if parts else name
    return LAMBDA if last == "operator()" and len(parts) > 1 and parts[-2] == LAMBDA else last


def without_arguments(name: str) -> str:
    """The name with what encloses it, without template arguments, parameters and suffixes of clones."""
    name = CLONE.sub("", name[:MOST])
    return name.split(".")[0] if WORD.fullmatch(name.split(".")[0]) else "::".join(_parts(name))


def _parts(name: str) -> list[str]:
    """What stands between `::` outside of brackets; a return type, parameters and qualifiers are left out."""
    parts, now, at = [], "", 0
    while at < len(name):
        char = name[at]
        if name.startswith("operator", at) and not now and not name[at + 8 : at + 9].isidentifier():
            now, at = _operator(name, at)
        elif char in OPEN:
            end = _closing(name, at)
            group, at = name[at:end], end
            if char == "{" and LAMBDA in group:
                now = LAMBDA
            elif group == "(anonymous namespace)":
                now = group
            elif char == "(" and now and now != "decltype" and not name.startswith("::", at):
                break  # parameters, and behind them nothing but qualifiers
        elif name.startswith("::", at):
            parts.append(now)
            now, at = "", at + 2
        elif char == "'" and name.startswith("'lambda", at):
            now, at = LAMBDA, name.find("'", at + 1) + 1 or len(name)
        elif char.isspace():  # behind a return type, or between an operator and its template arguments
            parts, now, at = (parts, now, at + 1) if now.startswith("operator") else ([], "", at + 1)
        else:
            now, at = now + char, at + 1
    return [part for part in [*parts, now] if part]


def _operator(name: str, at: int) -> tuple[str, int]:
    """An operator's name without spaces, and what follows it; all conversions are one."""
    if match := OPERATOR.match(name, at):
        return "".join(match[0].split()), match.end()
    rest = name.find("(", at)
    return "operator type", rest if rest > 0 else len(name)


def _closing(name: str, at: int) -> int:
    """Behind the bracket that closes the one at `at`; the end of the name when nothing does."""
    depth = 0
    while at < len(name):
        if name[at] in OPEN:
            depth += 1
        elif name[at] in CLOSE and name[at - 1 : at + 1] != "->":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return len(name)
