"""Macros that a grammar cannot know are blanked before parsing, at the places where only a macro can stand.

`static NOINLINE uint64_t f(...)`, `MEM_STATIC size_t f(...)`, `DEPRECATED("no") int f(...)`, `int f(...) PURE {`: a
declaration has one type, and what is not a keyword and not that type is a macro. Names are not guessed by their
spelling. All blanks keep the length: each byte of the rest stays where it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

Span = tuple[int, int]

_SPECIFIERS = frozenset(
    b"static inline extern const volatile register restrict __restrict __restrict__ __inline __inline__ __forceinline "
    b"__extension__ constexpr consteval constinit virtual explicit friend typedef thread_local _Thread_local __thread "
    b"_Noreturn typename mutable template __const __volatile__ _Atomic export".split()
)
_TYPES = frozenset(
    b"void int char short long float double signed unsigned bool _Bool auto wchar_t char8_t char16_t char32_t "
    b"__int128 __int64 _Complex __signed__ _Float128 __float128".split()
)
_RECORDS = frozenset(b"struct union enum class".split())
_WITH_GROUP = frozenset(
    b"__attribute__ __attribute __declspec alignas _Alignas __asm__ asm __asm decltype typeof __typeof__ __typeof "
    b"noexcept throw requires _Static_assert static_assert explicit".split()
)
_TRAILERS = frozenset(b"const volatile override final mutable try noexcept throw requires default delete".split())
_OTHER = frozenset(
    b"using namespace static_assert _Static_assert asm __asm__ import module concept goto return if".split()
)
_TOKEN = re.compile(rb"[A-Za-z_]\w*|::|->|\S")
_NAMES = re.compile(rb"\(\s*[A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*\s*\)")


def named_macros(code: bytes, names: Sequence[str]) -> list[Span]:
    """Where the given macros stand, each with its arguments."""
    if not names:
        return []
    word = re.compile(rb"\b(?:%b)\b" % b"|".join(re.escape(name.encode()) for name in names))
    return [(match.start(), _arguments(code, match.end())) for match in word.finditer(code)]


def _arguments(code: bytes, end: int) -> int:
    """Behind the parentheses that follow; `end` itself where none do, or where they do not end."""
    opening = re.compile(rb"\s*\(").match(code, end)
    if not opening:
        return end
    depth = 0
    for token in re.compile(rb"[()]").finditer(code, end):
        depth += 1 if token[0] == b"(" else -1
        if depth == 0:
            return token.end()
    return end


@dataclass(slots=True)
class _Token:
    text: bytes
    start: int
    end: int
    kind: str  # word, group, name (qualified or with template arguments), other


def macros_in(code: bytes, start: int, end: int, *, cpp: bool) -> Iterator[Span]:
    """The macros among the specifiers of one declaration, and behind a function's parameters."""
    tokens = _tokens(code, start, end, cpp)
    yield from _Declaration(tokens, code, end, cpp).macros()


def _tokens(code: bytes, start: int, end: int, cpp: bool) -> list[_Token]:
    """Words and others; what is in parentheses, or in the angle brackets of a template, is one."""
    found: list[_Token] = []
    depth = angles = 0
    for match in _TOKEN.finditer(code, start, end):
        text = match[0]
        if depth or text == b"(":
            if depth == 0:
                found.append(_Token(text, match.start(), end, "group"))
            depth += (text == b"(") - (text == b")")
            found[-1].end = match.end()
        elif cpp and (angles or text == b"<") and found:
            angles += (text == b"<") - (text == b">")
            found[-1] = _Token(found[-1].text, found[-1].start, match.end(), _angled(found[-1]))
        elif cpp and found and (text == b"::" or found[-1].text == b"::") and found[-1].kind in ("word", "name"):
            found[-1] = _Token(text, found[-1].start, match.end(), "name")
        else:
            kind = "word" if text[:1].isalpha() or text[:1] == b"_" else "name" if text == b"::" else "other"
            found.append(_Token(text, match.start(), match.end(), kind))
    return found


def _angled(token: _Token) -> str:
    return "template" if token.text == b"template" or token.kind == "template" else "name"


@dataclass(slots=True)
class _Declaration:
    tokens: list[_Token]
    code: bytes
    end: int
    cpp: bool
    words: list[_Token] = field(default_factory=list)  # that may be the type, or macros
    typed: bool = False
    pointed: bool = False

    def macros(self) -> Iterator[Span]:
        """Spans to be blanked."""
        at = 0
        while at < len(self.tokens):
            token = self.tokens[at]
            after = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
            if token.text in _OTHER or token.text == b"operator":
                break
            if token.kind == "word" and after is not None and after.text == b":" and self.cpp:
                yield from self._all()  # public: what was before is no part of a declaration
                self.words, self.typed, at = [], False, at + 2
            elif token.kind == "word" and token.text not in _WITH_GROUP and after is not None and after.kind == "group":
                if not self._call(at):
                    yield from self._specifiers()
                    if not self._old_style(at + 1):
                        yield from self._behind(at + 2)
                    return
                yield token.start, after.end
                at += 2
            elif self._plain(at, after):
                at += 1 + (token.text in _RECORDS) + (token.text in _WITH_GROUP and _is_group(after))
            else:
                if token.kind == "name" and _is_group(after):
                    yield from self._specifiers()
                    yield from self._behind(at + 2)
                elif token.text in (b";", b"=", b",", b"[") or token is self.tokens[-1]:
                    self._drop_variable()
                    yield from self._specifiers()
                return
            if at >= len(self.tokens):
                self._drop_variable()
                yield from self._specifiers()

    def _plain(self, at: int, after: _Token | None) -> bool:
        """Take a token as one of the specifiers; tell if it is one."""
        token = self.tokens[at]
        if token.kind == "template" or token.text in _SPECIFIERS or token.text == b'"':
            return True
        if token.text in _TYPES or token.text in _RECORDS:
            self.typed = True
        elif token.text in _WITH_GROUP:
            self.typed |= token.text in (b"decltype", b"typeof", b"__typeof__", b"__typeof")
        elif token.text in (b"*", b"&"):
            self.pointed = True
        elif token.kind == "word" and not self.pointed:
            self.words.append(token)
        elif token.kind == "name" and not _is_group(after):
            self.typed = True
        elif token.kind != "word":
            return False
        return True

    def _call(self, at: int) -> bool:
        """Whether a word with parentheses is a macro among the specifiers, not the function itself."""
        rest = self.tokens[at + 2 :]
        if not rest or rest[0].kind not in ("word", "name", "template") or rest[0].text in _TRAILERS | _WITH_GROUP:
            return False
        named = next((i for i, token in enumerate(rest) if token.kind == "group"), None)
        if named is None:
            return not (self.typed or self.words) and len(rest) > 1 and not self._names_only(at + 1)
        # `int f(int a) PURE(b)` has its type before, `STATIC PURE(b) int f(int a)` behind.
        return named > 1 or not (self.typed or self.words)

    def _names_only(self, at: int) -> bool:
        """Whether these are the parameters of a function whose types come behind them."""
        return _NAMES.fullmatch(self.code, self.tokens[at].start, self.tokens[at].end) is not None

    def _old_style(self, at: int) -> bool:
        """Whether the declarations of parameters come next: `int f(a) int a;`."""
        ends = self.code[self.end : self.end + 1] == b";"
        return not self.cpp and ends and at + 1 < len(self.tokens) and self._names_only(at)

    def _specifiers(self) -> Iterator[Span]:
        """All words if the type is known, else all but the last."""
        for word in self.words if self.typed else self.words[:-1]:
            yield word.start, word.end

    def _all(self) -> Iterator[Span]:
        yield from ((word.start, word.end) for word in self.words)

    def _drop_variable(self) -> None:
        """The last word of a declaration without parentheses is what it declares."""
        if self.words and not self.pointed:
            self.words.pop()

    def _behind(self, at: int) -> Iterator[Span]:
        """Macros between the parameters and the body."""
        while at < len(self.tokens):
            token = self.tokens[at]
            after = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
            if token.text in _WITH_GROUP and _is_group(after):
                at += 2
            elif token.text in _TRAILERS or token.text == b"&":
                at += 1
            elif token.kind == "word":
                end = after.end if _is_group(after) and after else token.end
                yield token.start, end
                at += 1 + _is_group(after)
            else:
                return


def _is_group(token: _Token | None) -> bool:
    return token is not None and token.kind == "group"
