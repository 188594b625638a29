"""Functions that run-times compile while a program runs: what perf's maps call them, and what people do."""

from __future__ import annotations

import re
from typing import NamedTuple

from incprof.readers.symbols.python_code import label

# V8's: `JS:*step /home/me/run.js:3:10`. The mark says how it was compiled, which may change while it runs.
SCRIPT = re.compile(r"((?:JS|LazyCompile|Function|Script|Eval|Regexp):)[~^+*]?((?:(\S*) )?(.+):(\d{1,9}):(\d{1,9}))")
# A JVM's: `double solver.Grid$Cell.relax(int)`.
METHOD = re.compile(r"(?:[\w.$]+(?:\[\])* )?([\w.$]+)\.([\w$<>]+)(\([^()]*\))")
# Whose classes are no program's own.
JAVA = re.compile(r"(java|javax|jdk|sun|com\.sun|kotlin|scala)\.")


class Compiled(NamedTuple):
    """A function: its name for people, its file ("": not known) and line (0), and whether it is the run-time's own."""

    name: str
    file: str = ""
    line: int = 0
    shared: bool = False


def however_compiled(symbol: str) -> str:
    """One name for all that a run-time has made of a function."""
    match = SCRIPT.fullmatch(symbol)
    return f"JS:{match[2]}" if match else symbol


def compiled(symbol: str) -> Compiled:
    """What a map's name says: functions of scripts are called as Python's are, methods of classes as C++'s."""
    if match := SCRIPT.fullmatch(symbol):
        file, line = match[4], int(match[5])
        # The code of a file, which node makes a function of.
        unnamed = "<module>" if (match[5], match[6]) == ("1", "1") else f"<anonymous {line}>"
        return Compiled(f"{label(file)}:{match[3] or unnamed}", file, line, file.startswith("node:"))
    if match := METHOD.fullmatch(symbol):
        parts = [part for part in match[1].rpartition(".")[2].split("$") if part]
        return Compiled("::".join([*parts, match[2]]) + match[3], shared=JAVA.match(match[1]) is not None)
    return Compiled(symbol)
