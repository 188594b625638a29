"""Names for people from names for linkers."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from incprof.readers.symbols import demangler

MODULE_PROCEDURE = re.compile(r"__([a-z]\w*)_MOD_([a-z]\w*)(\..*)?")
EXTERNAL_PROCEDURE = re.compile(r"([a-z]\w*?)_(\..*)?")
# What stands for a part of a C++ name before it, and so may double its length; what repeats a part for each of a list.
# Both may be in what the program's author calls things as well, which does no harm.
REFERENCE, LIST = re.compile(r"[ST][0-9A-Z]*_|TL"), re.compile("Dp|sp")
# Rust's names look like C++ ones, with a hash for their last part, and with marks for what C++ has no characters for.
RUST = re.compile(r"_ZN.*17h[0-9a-f]{16}E(\..*)?")
RUST_HASH = re.compile(r"::h[0-9a-f]{16}\b")
RUST_MARK = re.compile(r"\$(LT|GT|LP|RP|RF|BP|SP|C|u[0-9a-f]{1,6})\$")
RUST_MARKS = {"LT": "<", "GT": ">", "LP": "(", "RP": ")", "RF": "&", "BP": "*", "SP": "@", "C": ","}
FEW = 4
# Longer ones no runtime has a stack for.
LONGEST = 1023
# So many names may end the demangler before the others are shown as they are.
MOST_ENDS = 3
TIMEOUT_S = 60


def display_names(mangled: Iterable[str], *, fortran: bool = False) -> list[str]:
    """Names for people, in the order given.

    C++ names as the compiler's runtime spells them, Rust's without their hash, clones marked as in
    `f(int) [clone .isra.0]`; gfortran's module procedures as `module::procedure`, and external ones without the
    trailing underscore where `fortran` says that the module holds gfortran code. Any other name stays as it is, and so
    do C++ names that would become too long to be read (`demangler.longest`) or take too long to be found.
    """
    mangled = list(mangled)
    _learn([name for name in dict.fromkeys(mangled) if name.startswith("_Z") and name not in _known])
    return [_display(name, fortran) for name in mangled]


def _display(name: str, fortran: bool) -> str:
    if name.startswith("_Z"):
        return _known[name]
    if match := MODULE_PROCEDURE.fullmatch(name):
        return f"{match[1]}::{match[2]}{match[3] or ''}"
    if fortran and (match := EXTERNAL_PROCEDURE.fullmatch(name)):
        return f"{match[1]}{match[2] or ''}"
    return name


# C++ names seen before: who follows a running job asks again and again.
_known: dict[str, str] = {}


def _learn(names: Sequence[str]) -> None:
    """Demangle C++ names: what cannot become long here, the rest where it can be stopped."""
    encoded = {name: name.encode("utf-8", "replace") for name in names}
    usable = [name for name in names if "\0" not in name and len(encoded[name]) <= LONGEST]
    apart = [name for name in usable if len(REFERENCE.findall(name)) > FEW or LIST.search(name)]
    answers = dict(zip(apart, demangled_apart([encoded[name] for name in apart]), strict=True))
    answers |= {name: _in_process()(encoded[name]) for name in usable if name not in answers}
    for name in names:
        text = answers.get(name, b"").decode("utf-8", "replace") or name
        _known[name] = _of_rust(text) if text != name and RUST.fullmatch(name) else text


def _of_rust(text: str) -> str:
    """A name of Rust as its author wrote it, from what the C++ runtime makes of it."""

    def character(match: re.Match[str]) -> str:
        mark, code = match[1], int(match[1][1:], 16) if match[1][0] == "u" else 0
        is_one = code <= sys.maxunicode and not 0xD800 <= code < 0xE000
        return RUST_MARKS.get(mark) or (chr(code) if is_one else match[0])

    plain = re.sub(r"(^|::)_\$", r"\1$", RUST_HASH.sub("", text))
    return RUST_MARK.sub(character, plain).replace("..", "::")


@functools.cache
def _in_process() -> demangler.Demangler:
    return demangler.load()


def demangled_apart(names: Sequence[bytes]) -> list[bytes]:
    """What the demangler says in a process of its own: nothing of names that end it, nor after some of these."""
    answers: list[bytes] = []
    ended = 0
    while len(answers) < len(names) and ended < MOST_ENDS:
        found, ends = _asked(names[len(answers) :])
        if not ends:
            answers += found
            break
        answers += [*found, b""]
        ended += 1
    return answers + [b""] * (len(names) - len(answers))


def _asked(names: Sequence[bytes]) -> tuple[list[bytes], bool]:
    """The answers for the first of the names, and whether the one after them ends the process."""
    if not sys.executable:
        return [], False
    program = [sys.executable, "-I", "-S", str(Path(demangler.__file__))]
    question = b"".join(name + b"\0" for name in names)
    try:
        done = subprocess.run(program, input=question, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              timeout=TIMEOUT_S, check=False)  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return [], False
    answers = done.stdout.split(b"\0")[:-1]
    return answers, done.returncode < 0 and len(answers) < len(names)
