"""Blank unknown macros before parsing, at the places where only a macro can appear.

`static NOINLINE uint64_t f(...)`, `MEM_STATIC size_t f(...)`, `DEPRECATED("no") int f(...)`, `int f(...) PURE {`: a
declaration has one type, and any other word that is not a keyword is a macro. Names are not judged by their spelling.
Blanking keeps the length: all other bytes keep their offsets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

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
    tokens: list[Token] = []
    depth = angles = 0
    for match in _TOKEN.finditer(code, start, end):
        text = match[0]
        if depth or text == b"(":
            if depth == 0:
                tokens.append(Token(text, match.start(), end, "group"))
            depth += (text == b"(") - (text == b")")
            tokens[-1].end = match.end()
        elif cpp and (angles or text == b"<") and tokens:
            angles += (text == b"<") - (text == b">")
            tokens[-1] = Token(tokens[-1].text, tokens[-1].start, match.end(), _angled(tokens[-1]))
        elif cpp and tokens and (text == b"::" or tokens[-1].text == b"::") and tokens[-1].kind in ("word", "name"):
            tokens[-1] = Token(text, tokens[-1].start, match.end(), "name")
        else:
            kind = "word" if text[:1].isalpha() or text[:1] == b"_" else "name" if text == b"::" else "other"
            tokens.append(Token(text, match.start(), match.end(), kind))
    return tokens


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
    after_star: list[Token] = []
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
            named = after_star or len(front) > (not typed)
            pointer = at + 2 < len(tokens) and tokens[at + 2].kind == "group"  # to a function
            if pointer or (at + 2 >= len(tokens) and not named):
                break
            yield token.start, after.end
            at += 1
        elif token.kind != "word":
            break
        elif token.text not in SPECIFIERS:
            (after_star if pointed else front).append(token)
        at += 1
    spare = front if typed else front[:-1]
    if not pointed:
        spare = front[:-1] if typed else front[:-2]
    yield from ((token.start, token.end) for token in [*spare, *after_star[:-1]])


def is_group(token: Token | None) -> bool:
    """Return whether a token is a group in parentheses."""
    return token is not None and token.kind == "group"


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
    after_star: list[Token] = field(default_factory=list)  # after a star
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
            yield from self._after_parameters(parameters + 1)

    def _operator(self, at: int) -> Iterator[Span]:
        """Read the rest of an operator's declaration; its parameters are the last parentheses that no macro has."""
        groups = [i for i in range(at + 1, len(self.tokens)) if self.tokens[i].kind == "group"]
        if not groups:
            return
        called = groups[0] == at + 1 and groups[1:2] == [at + 2]
        conversion = self.tokens[at + 1].kind in ("word", "name")
        yield from _spans(self.words) if conversion else self._specifiers()
        yield from of_parameters(self.code, self.tokens[groups[called]], cpp=self.cpp)
        yield from self._after_parameters(groups[called] + 1)

    def _variable(self) -> Iterator[Span]:
        """Read a variable: the last word is the declared name."""
        declared = self.after_star if self.pointed else self.words
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
            (self.after_star if self.pointed else self.words).append(token)
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
        yield from _spans([*(self.words if self.typed else self.words[:-1]), *self.after_star])

    def _after_parameters(self, at: int) -> Iterator[Span]:
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
