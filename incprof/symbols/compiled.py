"""Names of functions that run-times compile: from their form in perf's maps to display names."""

from __future__ import annotations

import re
from typing import NamedTuple

from incprof.symbols.python_code import label

# V8's: `JS:*step /home/me/run.js:3:10`. The mark encodes the compilation tier, which may change during the run.
SCRIPT = re.compile(r"((?:JS|LazyCompile|Function|Script|Eval|Regexp):)[~^+*]?((?:(\S*) )?(.+):(\d{1,9}):(\d{1,9}))")
# A JVM's: `double solver.Grid$Cell.relax(int)`.
METHOD = re.compile(r"(?:[\w.$]+(?:\[\])* )?([\w.$]+)\.([\w$<>]+)(\([^()]*\))")
# Numba's: `solver::sweep[abi:v1][abi:c8t...](Array<double, 1, C>)`, and its wrappers for Python and C.
NUMBA = re.compile(r"(?:cpython::)?([^\[(]+)\[abi:v\d+\].*")
NUMBA_CALLER = re.compile(r"(?:_ZN7cpython|cfunc\._ZN)(\d.*)")
# Julia's: `julia_sweep_123`, with a new number each time that it is compiled.
JULIA = re.compile(r"julia_(.+)_\d{1,9}")
# A JVM's name for the code that interprets methods: it runs all methods that are not compiled.
INTERPRETER, INTERPRETED = "Interpreter", "<interpreted Java>"
# Classes in these are not a program's own.
JAVA = re.compile(r"(java|javax|jdk|sun|com\.sun|kotlin|scala)\.")


class Compiled(NamedTuple):
    """A function: its display name, its file ("": unknown) and line (0), and whether it belongs to the run-time."""

    name: str
    file: str = ""
    line: int = 0
    shared: bool = False


def however_compiled(symbol: str) -> str:
    """Return one name for all compiled versions of a function."""
    if match := SCRIPT.fullmatch(symbol):
        return f"JS:{match[2]}"
    if match := NUMBA_CALLER.fullmatch(symbol):
        return f"_ZN{match[1]}"
    return f"julia_{match[1]}_0" if (match := JULIA.fullmatch(symbol)) else symbol


def compiled(symbol: str) -> Compiled:
    """Parse the name in a map: functions of scripts are displayed like Python's, methods of classes like C++'s."""
    if match := SCRIPT.fullmatch(symbol):
        file, line = match[4], int(match[5])
        # The top-level code of a file, which node wraps in a function.
        unnamed = "<module>" if (match[5], match[6]) == ("1", "1") else f"<anonymous {line}>"
        return Compiled(f"{label(file)}:{match[3] or unnamed}", file, line, file.startswith("node:"))
    if match := METHOD.fullmatch(symbol):
        parts = [part for part in match[1].rpartition(".")[2].split("$") if part]
        return Compiled("::".join([*parts, match[2]]) + match[3], shared=JAVA.match(match[1]) is not None)
    if symbol == INTERPRETER:
        return Compiled(INTERPRETED)
    if match := NUMBA.fullmatch(symbol):
        return Compiled(match[1].removeprefix("__main__::"))
    return Compiled(match[1] if (match := JULIA.fullmatch(symbol)) else symbol)
