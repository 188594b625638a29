"""The words of a declaration in C or C++, and the macros among a function's parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

Span = tuple[int, int]

SPECIFIERS = frozenset(
    b"static inline extern const volatile register restrict __restrict __restrict__ __inline __inline__ __forceinline "
    b"__extension__ constexpr consteval constinit virtual explicit friend typedef thread_local _Thread_local __thread "
    b"_Noreturn typename mutable template __const __volatile__ _Atomic export".split()
)
TYPES = frozenset(
    b"void int char short long float double signed unsigned bool _Bool auto wchar_t char8_t char16_t char32_t "
    b"__int128 __int64 _Complex __signed__ _Float128 __float128".split()
)
RECORDS = frozenset(b"struct union enum class".split())
WITH_GROUP = frozenset(
    b"__attribute__ __attribute __declspec alignas _Alignas __asm__ asm __asm decltype typeof __typeof__ __typeof "
    b"noexcept throw requires _Static_assert static_assert explicit".split()
)
_TOKEN = re.compile(rb"[A-Za-z_]\w*|::|->|\S")


@dataclass(slots=True)
class Token:
    """A token.

    Attributes:
        kind: "word", "group" in parentheses, "name" with :: or template arguments, "template", or "other".
    """

    text: bytes
    start: int
    end: int
    kind: str  # word, group, name (qualified or with template arguments), other


def tokens_of(code: bytes, start: int, end: int, cpp: bool) -> list[Token]:
    """Return words and other tokens; parentheses, or angle brackets of a template, and their contents are one."""
    found: list[Token] = []
    depth = angles = 0
    for match in _TOKEN.finditer(code, start, end):
        text = match[0]
        if depth or text == b"(":
            if depth == 0:
                found.append(Token(text, match.start(), end, "group"))
            depth += (text == b"(") - (text == b")")
            found[-1].end = match.end()
        elif cpp and (angles or text == b"<") and found:
            angles += (text == b"<") - (text == b">")
            found[-1] = Token(found[-1].text, found[-1].start, match.end(), _angled(found[-1]))
        elif cpp and found and (text == b"::" or found[-1].text == b"::") and found[-1].kind in ("word", "name"):
            found[-1] = Token(text, found[-1].start, match.end(), "name")
        else:
            kind = "word" if text[:1].isalpha() or text[:1] == b"_" else "name" if text == b"::" else "other"
            found.append(Token(text, match.start(), match.end(), kind))
    return found


def _angled(token: Token) -> str:
    return "template" if token.text == b"template" or token.kind == "template" else "name"


def of_parameters(code: bytes, group: Token, *, cpp: bool) -> Iterator[Span]:
    """Yield the parts of a function's parameters that are hidden from the parser.

    These are macros, as in `int f(UNUSED int a, const char *RESTRICT b)`, and default values in braces.
    """
    one: list[Token] = []
    braces, default = 0, -1
    for token in [
        *tokens_of(code, group.start + 1, group.end - 1, cpp),
        Token(b",", group.end - 1, group.end, "other"),
    ]:
        braces = max(0, braces + (token.text == b"{") - (token.text == b"}"))
        if token.text == b"," and braces == 0:
            yield from _of_parameter(one)
            if default >= 0 and b"{" in code[default : token.start]:
                yield default, token.start
            one, default = [], -1
        elif token.text == b"=" and default < 0:
            default = token.start
        elif default < 0:
            one.append(token)


def _of_parameter(tokens: list[Token]) -> Iterator[Span]:
    """Yield macros of one parameter, which has a type and at most one name, after all stars."""
    typed, pointed, at = False, False, 0
    front: list[Token] = []
    behind: list[Token] = []
    while at < len(tokens):
        token = tokens[at]
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if token.text in WITH_GROUP and is_group(after):
            at += 1
        elif token.text in TYPES or token.kind == "name":
            typed = True
        elif token.text in RECORDS:
            typed, at = True, at + 1
        elif token.text in (b"*", b"&"):
            pointed = True
        elif token.kind == "word" and after is not None and after.kind == "group":
            named = behind or len(front) > (not typed)
            pointer = at + 2 < len(tokens) and tokens[at + 2].kind == "group"  # to a function
            if pointer or (at + 2 >= len(tokens) and not named):
                break
            yield token.start, after.end
            at += 1
        elif token.kind != "word":
            break
        elif token.text not in SPECIFIERS:
            (behind if pointed else front).append(token)
        at += 1
    spare = front if typed else front[:-1]
    if not pointed:
        spare = front[:-1] if typed else front[:-2]
    yield from ((token.start, token.end) for token in [*spare, *behind[:-1]])


def is_group(token: Token | None) -> bool:
    """Return whether a token is a group in parentheses."""
    return token is not None and token.kind == "group"
