"""One name for a function, whatever compiler and demangler call it.

Truths have the name of the source: without parameters and template arguments, Fortran without its module.
"""

from __future__ import annotations

import re

_SUFFIX = re.compile(r"(\.(constprop|isra|part|cold|lto_priv|_omp_fn)|\.\d+| \[clone [^\]]*\])+$")
_MODULE = re.compile(r"^__\w+?_MOD_(\w+)$")


def plain(name: str) -> str:
    """Return the source's name of a function: `a::b<int>::f(int) [clone .part.0]` is `a::b::f`."""
    name = _SUFFIX.sub("", name)
    module = _MODULE.match(name)
    if module:
        return module.group(1)
    name = _without(name.replace("(anonymous namespace)::", "")).strip()
    # What stands before a blank is the type that a template returns, behind it `const`.
    words = [word for word in name.split() if word != "const"]
    name = words[-1] if words and not name.startswith("operator") else name
    return name[:-1] if name.endswith("_") and name[:-1].islower() else name


def _without(name: str) -> str:
    """Leave out everything in angle brackets and parentheses; operators keep theirs."""
    if "operator" in name:
        return name.partition("(")[0]
    out: list[str] = []
    depth = 0
    for letter in name:
        depth += letter in "<("
        if depth == 0:
            out.append(letter)
        depth -= letter in ">)" and depth > 0
    return "".join(out)


def as_in_truth(name: str, wanted: frozenset[str]) -> str:
    """Return the name that a truth uses for a function, where it leaves out outer namespaces; else the plain name."""
    short = plain(name)
    parts = short.split("::")
    for i in range(len(parts)):
        candidate = "::".join(parts[i:])
        if candidate in wanted:
            return candidate
    return short
