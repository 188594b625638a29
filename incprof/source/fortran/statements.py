"""Statements of Fortran: their text without comments, strings and layout, and their kind by their first words.

No word is reserved: `if(i)=3` and `end=1` are assignments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from incprof.source.fortran.rows import Row, rows_of

# A Hollerith constant, text with its length before it, as in FORMAT (5HDON'T); and a string.
_STRING = re.compile(r"(?<=[(,/=])[ \t]*(\d{1,3})[hH]|'[^']*(?:'|$)|\"[^\"]*(?:\"|$)")
_EMPTY = re.compile(r"'_*'?")
_BLANKS = re.compile(r"[ \t\f]+")
_LAYOUT = re.compile(r"(?<![\w$]) | (?![\w$])", re.ASCII)
_LABEL = re.compile(r"(\d{1,5})[ \t]*(?=[A-Za-z])")
_PARENTHESIS = re.compile(r"[()]")

NO_LABEL = "the text before column 6 is not a label"


@dataclass(slots=True)
class Statement:
    """One statement, or a preprocessor line, or a directive.

    Attributes:
        kind: "code", or "cpp" and "directive" as in Row.
        text: in lower case, strings empty, blanks only between two words.
        label: its digits without leading zeros, or "".
        label_start: where its label starts, or `start`.
        start: first byte.
        end: byte after its last character.
        action: start of the action of a logical IF, or `start`.
        row: its lines.
        last: it is the last one in its row.
        fault: a problem, or "".
    """

    kind: str
    text: str
    label: str
    label_start: int
    start: int
    end: int
    action: int
    line: int
    row: Row
    last: bool = True
    fault: str = ""


def statements_of(text: str, *, fixed: bool) -> list[Statement]:
    """Return the statements and directives of a file, decoded as Latin-1, in order."""
    statements: list[Statement] = []
    for row in rows_of(text, fixed=fixed):
        if row.kind == "code":
            statements += _of_row(text, row, fixed)
        else:
            start, stop = row.pieces[0]
            plain = _BLANKS.sub(" ", text[start:stop].lower())
            statements.append(Statement(row.kind, plain, "", start, start, stop, start, row.line, row))
    return statements


def first_parenthesis_closed(text: str) -> int:
    """Return the position after the parenthesis that closes the first one that opens, or -1."""
    depth = 0
    for match in _PARENTHESIS.finditer(text):
        depth += 1 if match[0] == "(" else -1
        if depth <= 0:
            return match.end() if depth == 0 else -1
    return -1


def _of_row(text: str, row: Row, fixed: bool) -> list[Statement]:
    raw = _crossed("".join(text[start:stop] for start, stop in row.pieces), fixed)
    label = _BLANKS.sub("", text[slice(*row.label)]) if row.label else ""
    statements: list[Statement] = []
    places = _Places(text, row)
    position = 0
    for part in raw.split(";"):
        begin, position = position + len(part) - len(part.lstrip(" \t\f")), position + len(part) + 1
        stripped = part.strip(" \t\f")
        if not stripped:
            continue
        label_start = places.of(begin)
        own = ""
        if label and not statements:
            own, label_start = label, _label_start(text, row)
        elif not fixed and (match := _LABEL.match(stripped)):
            own, stripped = match[1], stripped[match.end() :]
            begin += match.end()
        start = action = places.of(begin)
        line = places.line
        plain = _LAYOUT.sub("", _BLANKS.sub(" ", _EMPTY.sub("''", stripped))).lower()
        if plain.startswith("if(") and (closed := first_parenthesis_closed(stripped)) > 0:
            action = places.of(begin + closed + len(stripped[closed:]) - len(stripped[closed:].lstrip(" \t\f")))
        end = places.of(begin + len(stripped) - 1) + 1
        fault = _fault(plain, row, own)
        if not own:
            label_start = start
        statements.append(
            Statement("code", plain, own.lstrip("0"), label_start, start, end, action, line, row, False, fault)
        )
    if statements:
        statements[-1].last = True
    return statements


def _crossed(raw: str, fixed: bool) -> str:
    """Return a text of the same length with underscores in its strings, and so no semicolon or parenthesis there."""
    if not fixed and "'" not in raw and '"' not in raw:
        return raw
    parts, done = [], 0
    while match := _STRING.search(raw, done):
        start, end = match.span()
        if match[1]:
            if not fixed:
                parts.append(raw[done:end])
                done = end
                continue
            end = min(end + int(match[1]), len(raw))
        parts += [raw[done:start], "'", "_" * (end - start - 2), "'" * (end - start > 1)]
        done = end
    return "".join([*parts, raw[done:]])


def _label_start(text: str, row: Row) -> int:
    start, stop = row.label or (row.start, row.start)
    while start < stop and text[start] in " \t":
        start += 1
    return start


def _fault(plain: str, row: Row, label: str) -> str:
    if row.quote:
        return "a string does not end"
    if plain.count("(") != plain.count(")"):
        return "a parenthesis is not closed"
    return NO_LABEL if label and not label.isdigit() else ""


class _Places:
    """Maps positions in the joined pieces of a row to offsets; call it in ascending order. line: of the last one."""

    def __init__(self, text: str, row: Row):
        self._text, self._pieces, self._index, self._before = text, row.pieces, 0, 0
        self._counted, self.line = row.start, row.line

    def of(self, position: int) -> int:
        start, stop = self._pieces[self._index]
        while position - self._before >= stop - start and self._index + 1 < len(self._pieces):
            self._before += stop - start
            self._index += 1
            start, stop = self._pieces[self._index]
        offset = start + position - self._before
        self.line += self._text.count("\n", self._counted, offset)
        self._counted = max(self._counted, offset)
        return offset


# `_` is an optional blank; `~` is one that free form requires and fixed form does not.
_RULES = r"""
end         end
end unit    end_(?:block_data|subroutine|function|program|procedure|submodule|module)(?:~(?P<name>\w+))?
end do      end_do(?:~(?P<name>\w+))?
end if      end_if(?:~(?P<name>\w+))?
end block   end_(?:select|where|forall|associate|block|critical|team)(?:\(.*\))?(?:~(?P<name>\w+))?
end types   end_(?:interface|type|enum|structure|union|map)\b.*
do          do(?:~(?P<label>\d+))?
do          do(?:~(?P<label>\d+),?|~)_(?:while_\(.*\)|[a-z]\w*=.+,.+)
do          do_while_\(.*\)
do          do,(?:while_\(.*\)|[a-z]\w*=.+,.+)
concurrent  do(?:~(?P<label>\d+),?_|~|,)concurrent_\(.*
then        if\(.*\)then
else        else(?:~\w+)?|else_if\(.*\)then(?:~\w+)?|else_where(?:\(.*\))?(?:~\w+)?
else        (?:case|class|rank)_default(?:~\w+)?
else        (?:case|rank|type_is|class_is)\(.*\)(?:~?\w+)?
block       select_(?:case|type|rank)\(.*\)|block|associate\(.*\)|critical(?:\(.*\))?|change_team\(.*\)
block       where\((?P<whole>.*)\)|forall\((?P<whole2>.*)\)
types       (?:abstract_)?interface\b.*|interface~.+|enum,.*|structure_/.*|union|map
types       type(?:,.*)?::_?\w+|type(?:,.*)?::\w+\(.*\)|type~(?!is\b)\w+(?:\(.*\))?
unit        program~(?P<program>\w+)|module~(?!procedure~)(?P<module>\w+)
unit        submodule_\((?P<parent>[\w:]+)\)(?P<submodule>\w+)
unit        block_data(?:~\w+)?(?P<data>)
procedure   module_procedure~(?P<name>\w+)
contains    contains
entry       entry~(?P<name>\w+)(?:\(.*)?
return      return(?:~\w.*|\(.*|[-+'].*)?
stop        stop(?:~\w.*|\(.*|['\"-].*|,.*)?
cycle       cycle(?:~(?P<name>\w+))?
exit        exit(?:~(?P<name>\w+))?
goto        go_to~?(?P<label>\d+)
computed    go_to_\((?P<labels>[\d,]+)\).*
assigned    go_to~[a-z]\w*(?:,?\(.*\))?
assign      assign~\d+_to~\w+
call        call~.+
io          (?:read|write|open|close|inquire|rewind|backspace|endfile|end_file|flush|wait|encode|decode|delete)_\(.*
io          (?:read|print|accept|type)(?:\*|~?''|~?\d|~[a-z]).*|(?:rewind|backspace|endfile|end_file|flush)~.+
exec        continue|(?:de)?allocate\(.*\)|nullify\(.*\)|error_stop.*|pause.*|fail_image
exec        (?:where|forall)\(.*\).+
exec        sync_(?:all|images|memory|team)\b.*|(?:un)?lock\(.*\)|(?:event_(?:post|wait)|notify_wait|form_team)\(.*\)
use         use(?:~|,.*::|::).+
import      import(?:\b.*)?
implicit    implicit~.+
include     include_''
neutral     format\(.*|data\b.*|data~.+|namelist_/.*
spec        (?:integer|real|complex|logical|character|byte|double_precision|double_complex)(?:[*(,:].*|~.+)
spec        (?:type|class|procedure)\(.*\).+|(?:type|class)\(.*\)
spec        (?:dimension|parameter|save|external|intrinsic|common|equivalence|allocatable|pointer|target)(?:\W.*|~.+)?
spec        attributes\(.*
spec        (?:optional|intent|public|private|protected|volatile|asynchronous|value|contiguous|bind)(?:\W.*|~.+)?
spec        (?:codimension|generic|final|sequence|automatic|static|enumerator|record|virtual)(?:\W.*|~.+)?
"""


@cache
def rules(fixed: bool) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return kinds of statements with the pattern of their whole text; the first match counts."""
    patterns = []
    for line in _RULES.strip().splitlines():
        kind, pattern = re.split(r"  +", line, maxsplit=1)
        pattern = pattern.replace("_", " ?").replace("~?", " ?").replace("~", " ?" if fixed else " ")
        patterns.append((kind, re.compile(pattern, re.ASCII | re.DOTALL)))
    return tuple(patterns)


_PREFIX = re.compile(
    r"(?:recursive|non_recursive|pure|elemental|impure|module|simple|attributes(?=\()"
    r"|integer|real|complex|logical|character|byte|double ?precision|double ?complex|type(?=\()|class(?=\())"
)
_PROCEDURE = re.compile(r" ?(subroutine|function) ([a-z]\w*)(?:$|(?=\())")
_JOINED = re.compile(r"(subroutine)([a-z]\w*)(?:$|(?=\())")  # fixed form only
_LENGTH = re.compile(r"\*\d+")
_NAMED = re.compile(r"([a-z]\w*):(?=do|if|select|block|associate|critical|where|forall|change)")
_BRACKET = re.compile(r"[()\[\]]")
_BRACKET_OR_COMMA = re.compile(r"[()\[\],]")
_WORD = re.compile(r"[a-z_$][\w$]*", re.ASCII)
_ARITHMETIC = re.compile(r"(\d+),(\d+)(?:,(\d+))?")
# Branch targets in a READ, a CALL and the like.
_BRANCHES = re.compile(r"\b(?:err|end|eor)=(\d+)|[(,][*&](\d+)(?=[,)])")


@dataclass(frozen=True, slots=True)
class Word:
    """The kind of a statement.

    Attributes:
        kind: one of fortran_rules, or "assignment", "subroutine", "function", "if", "arithmetic" (an IF with labels),
            "unknown".
        name: of a unit, of a construct that starts here, or the one that an END, CYCLE or EXIT names.
        label: the last statement of a labelled DO.
        labels: possible targets of control.
        prefix: the words before "subroutine" or "function".
        action: the conditional action of an "if".
    """

    kind: str
    name: str = ""
    label: str = ""
    labels: tuple[str, ...] = ()
    prefix: str = ""
    action: Word | None = None


def word_of(text: str, *, fixed: bool) -> Word:
    """Classify a statement, given its text as in Statement."""
    name = ""
    if match := _NAMED.match(text):
        name, text = match[1], text[match.end() :]
    if is_assignment(text, fixed=fixed):
        return Word("assignment")
    if text.startswith("if("):
        return _if(text, name, fixed)
    if procedure := _procedure(text, fixed):
        return procedure
    for kind, rule in rules(fixed):
        if match := rule.fullmatch(text):
            return _word_from_match(kind, match, text, name)
    return Word("unknown")


def is_assignment(text: str, *, fixed: bool) -> bool:
    """Return whether the statement starts with a designator and then `=` or `=>`."""
    plain = text.replace(" ", "") if fixed else text
    at = _designator_end(plain)
    if at < 0 or plain[at : at + 1] != "=" or plain.startswith("==", at):
        return False
    # DO 10 I = 1, 5 looks like one at its start; the comma decides.
    return not (plain.startswith("do") and _has_comma(plain, at))


def _designator_end(text: str) -> int:
    match = _WORD.match(text)
    if match is None:
        return -1
    at = match.end()
    while at < len(text):
        if text[at] in "([":
            closed = _closed(text, at)
            if closed < 0:
                return -1
            at = closed
        elif text[at] == "%" and (match := _WORD.match(text, at + 1)):
            at = match.end()
        else:
            return at
    return at


def _closed(text: str, at: int) -> int:
    depth = 0
    for match in _BRACKET.finditer(text, at):
        depth += 1 if match[0] in "([" else -1
        if depth == 0:
            return match.end()
    return -1


def _has_comma(text: str, at: int) -> bool:
    """Return whether a comma is outside all parentheses."""
    depth = 0
    for match in _BRACKET_OR_COMMA.finditer(text, at):
        if match[0] == ",":
            if depth == 0:
                return True
        else:
            depth += 1 if match[0] in "([" else -1
    return False


def _if(text: str, name: str, fixed: bool) -> Word:
    closed = first_parenthesis_closed(text)
    action_text = text[closed:].strip()
    if action_text == "then":
        return Word("then", name)
    if match := _ARITHMETIC.fullmatch(action_text):
        return Word("arithmetic", labels=tuple(filter(None, match.groups())))
    action = word_of(action_text, fixed=fixed) if action_text and not action_text.startswith("if(") else Word("unknown")
    return Word("unknown") if action.kind == "unknown" else Word("if", labels=action.labels, action=action)


def _procedure(text: str, fixed: bool) -> Word | None:
    at = 0
    while True:
        if match := _PROCEDURE.match(text, at) or (_JOINED.match(text, at) if fixed else None):
            return Word(match[1], match[2], prefix=text[:at])
        at += text.startswith(" ", at)
        match = _PREFIX.match(text, at)
        if match is None:
            return None
        at = match.end()
        if length := _LENGTH.match(text, at):
            at = length.end()
        at += text.startswith("*(", at)
        if text.startswith("(", at):
            at = _closed(text, at)
            if at < 0:
                return None


def _word_from_match(kind: str, match: re.Match[str], text: str, name: str) -> Word:
    groups = match.groupdict()
    label = groups.get("label") or ""
    if kind == "goto":
        return Word(kind, labels=(label.lstrip("0"),))
    if kind == "computed":
        return Word(kind, labels=tuple(each.lstrip("0") for each in groups["labels"].split(",") if each))
    if kind in ("call", "io"):
        return Word(kind, labels=tuple((one or other).lstrip("0") for one, other in _BRANCHES.findall(text)))
    if kind == "unit":
        return _unit(groups)
    if "whole" in groups and first_parenthesis_closed(text) != len(text):
        return Word("exec")  # WHERE and FORALL with their action on the same line
    return Word(kind, groups.get("name") or name, label.lstrip("0"))


def _unit(groups: dict[str, str | None]) -> Word:
    for kind in ("program", "module", "submodule"):
        if groups.get(kind):
            return Word(kind, groups[kind] or "", prefix=groups.get("parent") or "")
    return Word("block data")
