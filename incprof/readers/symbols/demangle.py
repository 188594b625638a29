"""Names for people from names for linkers."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from incprof.readers.symbols import demangler, dlang, rust
from incprof.readers.symbols.fortran_names import fortran_name

# Of C++ or the older kind of Rust's, of its newer one, and of D.
MANGLED = ("_Z", "_R", "_D")
# What stands for a part of a C++ name before it, and so may double its length; what repeats a part for each of a list.
# Both may be in what the program's author calls things as well, which does no harm.
REFERENCE, LIST = re.compile(r"[ST][0-9A-Z]*_|TL"), re.compile("Dp|sp")
FEW = 4
# Longer ones no runtime has a stack for.
LONGEST = 1023
# So many names may end the demangler before the others are shown as they are.
MOST_ENDS = 3
TIMEOUT_S = 60


def display_names(mangled: Iterable[str], *, fortran: bool = False) -> list[str]:
    """Names for people, in the order given.

    C++ names as the compiler's runtime spells them, Rust's without their hash, D's as C++ would have them, clones
    marked as in `f(int) [clone .isra.0]`; procedures of Fortran as `module::procedure`, and external ones without the
    trailing underscore where `fortran` says that the module holds code of gfortran or flang. Any other name stays as
    it is, and so do C++ names that would become too long to be read (`demangler.longest`) or take too long to be found.
    """
    mangled = list(mangled)
    new = [name for name in dict.fromkeys(mangled) if name.startswith(MANGLED) and name not in _known]
    _learn([name for name in new if name.startswith("_Z")])
    _known.update({name: rust.name_of(name) or name for name in new if name.startswith("_R")})
    _known.update({name: dlang.name_of(name) or name for name in new if name.startswith("_D")})
    return [_display(name, fortran) for name in mangled]


def _display(name: str, fortran: bool) -> str:
    if name.startswith(MANGLED):
        return _known[name]
    return fortran_name(name, fortran=fortran) or name


# Names of C++, Rust and D seen before: who follows a running job asks again and again.
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
        _known[name] = rust.legacy_name(text) if text != name and rust.LEGACY.fullmatch(name) else text


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
