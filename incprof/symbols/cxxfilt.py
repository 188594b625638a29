"""Demangle Rust and D with binutils' c++filt; D's names are converted to C++ syntax.

Other code can then parse them: `Mesh<double>::sweep(int)` is `Mesh!(double).sweep(int)` in D.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from incprof.symbols.demangler import answered_apart, longest

# Rust's older mangling: like that of C++, with a hash as the last component.
LEGACY = re.compile(r"_ZN.*17h[0-9a-f]{16}E(\..*)?")
SYMBOL, MARK = re.compile(r"[\w.$]+", re.ASCII), re.compile(r"[.$][\w.$]*", re.ASCII)
# c++filt does not read longer names.
LONGEST = 30_000
TOKEN = re.compile(
    r"""(?P<text>"[^"]*"[wd]?|'[^']*')|(?P<number>0x[0-9A-F]\.[0-9A-F]*p-?\d+)|(?P<open>!\(|\()|(?P<close>\))
      |(?P<more>\.\.\.)|(?P<dot>\.)|(?P<word>\w+)|(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
# Placeholders that do not look like brackets of the name around them.
PLAIN = re.compile(r"[\w .,:;/+*=%\"'-]*")


def rust_names(mangled: Iterable[str]) -> dict[str, str]:
    """Demangle those of the names that are Rust's, such as `app::step::<f32>`, without hashes."""
    return _filtered("rust", mangled, lambda text: text)


def d_names(mangled: Iterable[str]) -> dict[str, str]:
    """Demangle those of the names that are D's, such as `app::step<float>(ref int)`."""
    return _filtered("dlang", mangled, as_cpp)


def _filtered(language: str, mangled: Iterable[str], spell: Callable[[str], str]) -> dict[str, str]:
    """Return c++filt's output for the names that it can demangle; clone marks are added as demanglers write them."""
    split = {name: parts for name in mangled if (parts := _split(name))}
    answers = answered_apart([symbol.encode() for symbol, _ in split.values()], language)
    found = {}
    for (name, (symbol, mark)), answer in zip(split.items(), answers, strict=True):
        text = answer.decode("utf-8", "replace")
        if text != symbol and len(text) <= longest(symbol.encode()) and (spelled := spell(text)):
            found[name] = f"{spelled} [clone {mark}]" if mark else spelled
    return found


def _split(name: str) -> tuple[str, str] | None:
    """Split a symbol from its mark, such as `.cold`; None if c++filt does not read it as a symbol."""
    if len(name) > LONGEST:
        return None
    if older := LEGACY.fullmatch(name):
        end = older.start(1) if older[1] else len(name)
    else:
        end = min((at for at in map(name.find, ".$") if at > 0), default=len(name))
    symbol, mark = name[:end], name[end:]
    return (symbol, mark) if SYMBOL.fullmatch(symbol) and (not mark or MARK.fullmatch(mark)) else None


def as_cpp(name: str) -> str:
    """Convert a D name to `::` and `<>`; merge a template with its member of the same name. Empty: odd brackets."""
    out: list[str] = []
    closing: list[tuple[str, str]] = []
    at = 0
    while token := TOKEN.match(name, at):
        at, text = token.end(), token[0]
        if token["open"]:
            is_template = text == "!("
            closing.append((">", out[-1] if out else "") if is_template else (")", ""))
            text = "<" if is_template else "("
        elif token["close"]:
            if not closing:
                return ""
            text, of = closing.pop()
            again = f".{of}"
            if text == ">" and name.startswith(again, at) and not re.match(r"\w|!\(", name[at + len(again) :]):
                at += len(again)
        elif token["dot"]:
            text = "::"
        elif token["text"] and not PLAIN.fullmatch(text):
            text = f'"..."{text.rpartition(chr(34))[2]}' if text[0] == '"' else f"'\\{ord(text[1]):x}'"
        out.append(text)
    return "" if closing else "".join(out)
