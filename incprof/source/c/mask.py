"""Blank unknown macros before parsing, at the places where only a macro can appear.

`static NOINLINE uint64_t f(...)`, `MEM_STATIC size_t f(...)`, `DEPRECATED("no") int f(...)`, `int f(...) PURE {`: a
declaration has one type, and any other word that is not a keyword is a macro. Names are not judged by their spelling.
Blanking keeps the length: all other bytes keep their offsets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from incprof.source.c.words import (
    RECORDS,
    SPECIFIERS,
    TYPES,
    WITH_GROUP,
    Span,
    Token,
    is_group,
    of_parameters,
    tokens_of,
)

_TRAILERS = frozenset(b"const volatile override final mutable try noexcept throw requires default delete".split())
_OTHER = frozenset(
    b"using namespace static_assert _Static_assert asm __asm__ import module concept goto return if".split()
)
_NO_MACROS = SPECIFIERS | TYPES | RECORDS | WITH_GROUP
_NAMES = re.compile(rb"\(\s*[A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*\s*\)")


def named_macros(code: bytes, names: Sequence[str]) -> list[Span]:
    """Return where the given macros are used, with their arguments."""
    if not names:
        return []
    word = re.compile(rb"\b(?:%b)\b" % b"|".join(re.escape(name.encode()) for name in names))
    return [(match.start(), _arguments(code, match.end())) for match in word.finditer(code)]


def _arguments(code: bytes, end: int) -> int:
    """Return the offset after the following parentheses; `end` itself if there are none, or they are not closed."""
    opening = re.compile(rb"\s*\(").match(code, end)
    if not opening:
        return end
    depth = 0
    for token in re.compile(rb"[()]").finditer(code, end):
        depth += 1 if token[0] == b"(" else -1
        if depth == 0:
            return token.end()
    return end


def macros_in(code: bytes, start: int, end: int, *, cpp: bool) -> Iterator[Span]:
    """Yield the macros among the specifiers of one declaration, and after a function's parameters."""
    tokens = tokens_of(code, start, end, cpp)
    yield from _Declaration(tokens, code, end, cpp).macros()


@dataclass(slots=True)
class _Declaration:
    tokens: list[Token]
    code: bytes
    end: int
    cpp: bool
    words: list[Token] = field(default_factory=list)  # possible types or macros
    behind: list[Token] = field(default_factory=list)  # after a star
    typed: bool = False
    pointed: bool = False

    def macros(self) -> Iterator[Span]:
        """Yield spans to be blanked."""
        at = 0
        while at < len(self.tokens):
            token = self.tokens[at]
            after = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
            if token.kind in ("word", "name") and token.text not in _NO_MACROS and is_group(after):
                if token.kind == "name" or not self._call(at):
                    yield from self._function(at + 1)
                    return
                yield token.start, self.tokens[at + 1].end
                at += 2
            elif self.cpp and token.kind == "word" and after is not None and after.text == b":":
                yield from _spans(self.words)  # public: is not part of a declaration, nor is the text before it
                self.words, self.typed, at = [], False, at + 2
            elif token.text in RECORDS:
                self.typed = True
                extra = self._before_tag(at + 1)
                yield from _spans(self.tokens[at + 1 : at + 1 + extra])
                at += 2 + extra
            elif token.text == b"operator":
                yield from self._operator(at)
                return
            elif self._plain(token):
                at += 1 + (token.text in WITH_GROUP and is_group(after))
            else:
                yield from self._other(token)
                return
        yield from self._variable()

    def _function(self, parameters: int) -> Iterator[Span]:
        """Read the rest of a function's declaration, from its parameters on."""
        yield from self._specifiers()
        yield from of_parameters(self.code, self.tokens[parameters], cpp=self.cpp)
        if not self._old_style(parameters):
            yield from self._behind(parameters + 1)

    def _operator(self, at: int) -> Iterator[Span]:
        """Read the rest of an operator's declaration; its parameters are the last parentheses that no macro has."""
        groups = [i for i in range(at + 1, len(self.tokens)) if self.tokens[i].kind == "group"]
        if not groups:
            return
        called = groups[0] == at + 1 and groups[1:2] == [at + 2]
        conversion = self.tokens[at + 1].kind in ("word", "name")
        yield from _spans(self.words) if conversion else self._specifiers()
        yield from of_parameters(self.code, self.tokens[groups[called]], cpp=self.cpp)
        yield from self._behind(groups[called] + 1)

    def _variable(self) -> Iterator[Span]:
        """Read a variable: the last word is the declared name."""
        declared = self.behind if self.pointed else self.words
        if declared:
            declared.pop()
        yield from self._specifiers()

    def _other(self, token: Token) -> Iterator[Span]:
        """Read the end of a declaration's specifiers that is neither a name nor parameters."""
        if token.text in (b"namespace", b"using"):
            yield from _spans(self.words)
        elif token.kind == "group":  # a function that returns a function pointer
            yield from self._specifiers()
        elif token.text in (b"=", b",", b"["):
            yield from self._variable()

    def _plain(self, token: Token) -> bool:
        """Take a token as one of the specifiers; return whether it is one."""
        if token.text in _OTHER:
            return False
        if token.kind == "template" or token.text in SPECIFIERS or token.text == b'"':
            return True
        if token.text in TYPES or token.kind == "name":
            self.typed = True
        elif token.text in WITH_GROUP:
            self.typed |= token.text in (b"decltype", b"typeof", b"__typeof__", b"__typeof")
        elif token.text in (b"*", b"&"):
            self.pointed = True
        elif token.kind == "word":
            (self.behind if self.pointed else self.words).append(token)
        else:
            return False
        return True

    def _before_tag(self, at: int) -> int:
        """Return how many tokens lie between `class` and the class's name: `class EXPORT(x) Mesh`."""
        count = 0
        while at + count + 1 < len(self.tokens):
            token, after = self.tokens[at + count], self.tokens[at + count + 1]
            group = after.kind == "group" and at + count + 2 < len(self.tokens)
            follows = self.tokens[at + count + 2] if group else after
            if token.kind != "word" or token.text in WITH_GROUP or follows.kind != "word" or follows.text == b"final":
                break
            count += 1 + group
        # `struct tm y;` has a variable there.
        return count if self.cpp and self.code[self.end : self.end + 1] == b"{" else 0

    def _call(self, at: int) -> bool:
        """Return whether a word with parentheses is a macro among the specifiers, not the function itself."""
        if at + 2 >= len(self.tokens):
            return False
        after = self.tokens[at + 2]
        if after.kind not in ("word", "name", "template") or after.text in _TRAILERS | WITH_GROUP:
            return False
        named = at + 2
        while named < len(self.tokens) and self.tokens[named].kind != "group":
            named += 1
        first = not (self.typed or self.words)
        if named == len(self.tokens):
            return first and named > at + 3 and not self._names_only(at + 1)
        # `int f(int a) PURE(b)` has its type before, `STATIC PURE(b) int f(int a)` after.
        return named > at + 3 or first

    def _names_only(self, at: int) -> bool:
        """Return whether these are the parameters of a function whose types follow (K&R style)."""
        return _NAMES.fullmatch(self.code, self.tokens[at].start, self.tokens[at].end) is not None

    def _old_style(self, at: int) -> bool:
        """Return whether the declarations of parameters come next: `int f(a) int a;`."""
        ends = self.code[self.end : self.end + 1] == b";"
        return not self.cpp and ends and at + 1 < len(self.tokens) and self._names_only(at)

    def _specifiers(self) -> Iterator[Span]:
        """Yield all words if the type is known, else all but the last; and those after a star."""
        yield from _spans([*(self.words if self.typed else self.words[:-1]), *self.behind])

    def _behind(self, at: int) -> Iterator[Span]:
        """Yield macros between the parameters and the body."""
        while at < len(self.tokens):
            token = self.tokens[at]
            after = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
            if token.text in WITH_GROUP and is_group(after):
                at += 2
            elif token.text in _TRAILERS or token.text == b"&":
                at += 1
            elif token.kind == "word":
                end = after.end if is_group(after) and after else token.end
                yield token.start, end
                at += 1 + is_group(after)
            else:
                return


def _spans(tokens: Sequence[Token]) -> Iterator[Span]:
    yield from ((token.start, token.end) for token in tokens)
