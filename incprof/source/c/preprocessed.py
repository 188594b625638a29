"""C and C++ text after a compiler's first steps: comments, strings, directives, and branches of conditionals.

Nothing is expanded. Time is linear in the length of a file, whatever it contains.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

_LINE_COMMENT = rb"//(?:[^\\\n]++|\\\r?\n|\\)*+"
_BLOCK_COMMENT = rb"/\*.*?(?:\*/|\Z)"
_RAW = rb'(?<![A-Za-z0-9_])(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?(?:\)(?P=delimiter)"|\Z)'
_STRING = rb'"(?:[^"\\\n]++|\\\r?\n|\\.)*+"?'
_CHARACTER = rb"'(?:[^'\\\n]++|\\.)*+'?"
_NUMBER = rb"(?<![\w.])\.?[0-9](?:[\w.]|'(?=\w))*+"  # 1'000 is not a character
_DIRECTIVE = (
    rb"^[ \t\f\v]*#(?:[^\n\\/\"']++|\\\r?\n|\\.?|%b|%b|/|\"(?:[^\"\\\n]++|\\.)*+\"?|'(?:[^'\\\n]|\\.){1,4}'|')*+"
    % (_LINE_COMMENT, _BLOCK_COMMENT)
)
_COMMENT = rb"(?P<comment>%b|%b)" % (_LINE_COMMENT, _BLOCK_COMMENT)
_TOKEN = re.compile(
    rb"(?P<directive>%b)|%b|(?P<string>%b|%b|%b)|(?P<bracket>[{}()\[\]])|(?P<number>%b)"
    % (_DIRECTIVE, _COMMENT, _RAW, _STRING, _CHARACTER, _NUMBER),
    re.M | re.S,
)
_NAME = re.compile(rb"[ \t\f\v]*#[ \t]*([a-z_]*)\s*(.*)", re.S)
_REMARK = re.compile(rb"%b|\\\r?\n" % _COMMENT, re.S)
_UP, _DOWN = b"{([", b"})]"


@dataclass(slots=True)
class Branch:
    """The text between two directives of a conditional.

    Attributes:
        start: first byte.
        end: byte after the last one.
        depth: opening brackets minus closing ones.
        low: the minimum of that.
        last: its last byte of code, if it has any.
        excluded: no compiler of this language uses it.
    """

    start: int
    end: int = 0
    depth: int = 0
    low: int = 0
    last: bytes = b""
    excluded: bool = False


@dataclass(slots=True)
class Conditional:
    """An #if with its branches.

    Attributes:
        before: brackets open at its start.
        certain: it has a branch that is always taken.
    """

    branches: list[Branch]
    before: int
    low: int
    certain: bool = False


@dataclass(slots=True)
class Text:
    """A file's text.

    Attributes:
        bare: the file with comments and contents of strings blanked.
        directives: first byte of each, and the one after it.
        long: the same for directives, comments and strings that span several lines.
        conditionals: an outer one after those inside it.
        offsets: where the context changes.
        contexts: the enclosing branches from each of these offsets on.
        generated: a #line directive shows that another program wrote this file.
    """

    bare: bytes
    directives: list[tuple[int, int]] = field(default_factory=list)
    long: list[tuple[int, int]] = field(default_factory=list)
    conditionals: list[Conditional] = field(default_factory=list)
    offsets: list[int] = field(default_factory=lambda: [0])
    contexts: list[tuple[int, ...]] = field(default_factory=lambda: [()])
    generated: bool = False

    def context(self, offset: int) -> tuple[int, ...]:
        """Return the branches around a byte, outermost first; each branch of the file has a number."""
        return self.contexts[bisect_right(self.offsets, offset) - 1]

    def inside_token(self, offset: int) -> bool:
        """Return whether the byte before belongs to the same comment, string or directive."""
        at = bisect_right(self.long, (offset, 0)) - 1
        return at >= 0 and offset < self.long[at][1]

    def directive_between(self, start: int, end: int) -> bool:
        """Return whether a directive begins in these bytes."""
        at = bisect_right(self.directives, (start - 1, 1 << 62))
        return at < len(self.directives) and self.directives[at][0] < end


def read_text(data: bytes, *, cpp: bool) -> Text:
    """Find the comments, strings, directives and conditionals of a file."""
    bare = bytearray(data)
    text = Text(b"")
    reader = _Conditionals(text, cpp)
    for token in _TOKEN.finditer(data):
        start, end = token.span()
        kind = token.lastgroup
        if kind != "bracket" and b"\n" in token[0]:
            text.long.append((start, end))
        if kind == "bracket":
            reader.bracket(token[0])
        elif kind == "directive":
            reader.directive(token[0], start, end, bare)
            text.directives.append((start, end))
            bare[start:end] = blanks(data[start:end])
        elif kind == "comment":
            bare[start:end] = blanks(token[0])
        elif kind == "string":
            bare[start + 1 : end - 1] = blanks(data[start + 1 : end - 1])
    reader.close(len(data), bare)
    text.bare = bytes(bare)
    return text


_VISIBLE = re.compile(rb"[^\r\n]")


def blanks(text: bytes) -> bytes:
    """Return as many blanks; line ends stay."""
    return _VISIBLE.sub(b" ", text) if b"\n" in text else b" " * len(text)


class _Conditionals:
    """Tracks the directives and brackets of a file."""

    def __init__(self, text: Text, cpp: bool):
        self.text, self.cpp = text, cpp
        self.depth = self.low = self.count = 0
        self.open: list[Conditional] = []
        self.numbers: list[int] = []
        self.last = -1  # the last byte of code so far

    def bracket(self, which: bytes) -> None:
        self.depth += 1 if which in _UP else -1
        self.low = min(self.low, self.depth)

    def directive(self, text: bytes, start: int, end: int, bare: bytearray) -> None:
        self._look_back(start, bare)
        match = _NAME.match(text)
        name, condition = (match[1], match[2]) if match else (b"", b"")
        if name in (b"if", b"ifdef", b"ifndef"):
            self._begin(name, _plain(condition), end)
        elif name in (b"else", b"elif", b"elifdef", b"elifndef") and self.open:
            self._next(name, _plain(condition), start, end, bare)
        elif name == b"endif" and self.open:
            self._end(start, end, bare)
        elif name == b"line" or name[:1].isdigit() or (not name and condition[:1].isdigit()):
            self.text.generated = True

    def close(self, end: int, bare: bytearray) -> None:
        self._look_back(end, bare)
        while self.open:
            self._end(end, end, bare)

    def _begin(self, name: bytes, condition: bytes, end: int) -> None:
        taken = _constant_condition(name, condition, self.cpp)
        self.open.append(Conditional([Branch(end, excluded=taken is False)], self.depth, self.low, taken is True))
        self._enter(end)

    def _look_back(self, start: int, bare: bytearray) -> None:
        since = self.text.directives[-1][1] if self.text.directives else 0
        code = bytes(bare[since:start]).rstrip()
        if code:
            self.last = since + len(code) - 1

    def _next(self, name: bytes, condition: bytes, start: int, end: int, bare: bytearray) -> None:
        now = self.open[-1]
        self._finish(now.branches[-1], now, start, bare)
        excluded = now.certain or (name == b"elif" and _constant_condition(b"if", condition, self.cpp) is False)
        now.branches.append(Branch(end, excluded=excluded))
        self.numbers.pop()
        self._enter(end)

    def _end(self, start: int, end: int, bare: bytearray) -> None:
        now = self.open.pop()
        self._finish(now.branches[-1], now, start, bare)
        kept = next((branch for branch in now.branches if not branch.excluded), None)
        self.depth = now.before + (kept.depth if kept else 0)
        self.low = min(now.low, now.before + (kept.low if kept else 0))
        self.numbers.pop()
        self._note(end)
        self.text.conditionals.append(now)

    def _enter(self, end: int) -> None:
        self.depth = self.low = self.open[-1].before
        self.count += 1
        self.numbers.append(self.count)
        self._note(end)

    def _finish(self, branch: Branch, now: Conditional, start: int, bare: bytearray) -> None:
        branch.end, branch.depth, branch.low = start, self.depth - now.before, self.low - now.before
        branch.last = bytes(bare[self.last : self.last + 1]) if self.last >= branch.start else b""

    def _note(self, offset: int) -> None:
        self.text.offsets.append(offset)
        # No program nests deeper, and a tuple per directive must stay short.
        self.text.contexts.append(tuple(self.numbers[:64]) + ((self.count,) if len(self.numbers) > 64 else ()))


def _plain(condition: bytes) -> bytes:
    return b" ".join(_REMARK.sub(b" ", condition).split())


def _constant_condition(name: bytes, condition: bytes, cpp: bool) -> bool | None:
    """Return whether a condition holds, if the language alone decides."""
    if name == b"if" and condition in (b"0", b"1"):
        return condition == b"1"
    spelled = condition.replace(b"(", b" ").replace(b")", b" ").split()
    if name == b"if" and spelled in ([b"defined", b"__cplusplus"], [b"!defined", b"__cplusplus"]):
        return cpp == (spelled[0] == b"defined")
    if condition == b"__cplusplus":
        return cpp == (name != b"ifndef")
    return None


def kept_and_dropped(text: Text) -> Iterator[tuple[int, int]]:
    """Select the branches hidden from the parser, so that the file has one meaning.

    All branches stay if each is complete: whole statements or definitions with all their brackets. Otherwise only the
    first that is not dead stays.
    """
    for conditional in text.conditionals:
        live = [branch for branch in conditional.branches if not branch.excluded]
        complete = all(map(_complete, live))
        for position, branch in enumerate(live):
            if position and not complete:
                yield branch.start, branch.end
        yield from ((branch.start, branch.end) for branch in conditional.branches if branch.excluded)


def _complete(branch: Branch) -> bool:
    return branch.depth == 0 and branch.low >= 0 and branch.last in (b"", b";", b"}")
