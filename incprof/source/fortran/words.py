"""Classify a Fortran statement by its first words. No word is reserved: `if(i)=3` and `end=1` are assignments."""

from __future__ import annotations

import re
from dataclasses import dataclass

from incprof.source.fortran.rules import rules
from incprof.source.fortran.statements import first_parenthesis_closed

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
    if found := _NAMED.match(text):
        name, text = found[1], text[found.end() :]
    if is_assignment(text, fixed=fixed):
        return Word("assignment")
    if text.startswith("if("):
        return _if(text, name, fixed)
    if procedure := _procedure(text, fixed):
        return procedure
    for kind, rule in rules(fixed):
        if found := rule.fullmatch(text):
            return _made(kind, found, text, name)
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
    found = _WORD.match(text)
    if found is None:
        return -1
    at = found.end()
    while at < len(text):
        if text[at] in "([":
            closed = _closed(text, at)
            if closed < 0:
                return -1
            at = closed
        elif text[at] == "%" and (found := _WORD.match(text, at + 1)):
            at = found.end()
        else:
            return at
    return at


def _closed(text: str, at: int) -> int:
    depth = 0
    for found in _BRACKET.finditer(text, at):
        depth += 1 if found[0] in "([" else -1
        if depth == 0:
            return found.end()
    return -1


def _has_comma(text: str, at: int) -> bool:
    """Return whether a comma is outside all parentheses."""
    depth = 0
    for found in _BRACKET_OR_COMMA.finditer(text, at):
        if found[0] == ",":
            if depth == 0:
                return True
        else:
            depth += 1 if found[0] in "([" else -1
    return False


def _if(text: str, name: str, fixed: bool) -> Word:
    closed = first_parenthesis_closed(text)
    rest = text[closed:].strip()
    if rest == "then":
        return Word("then", name)
    if found := _ARITHMETIC.fullmatch(rest):
        return Word("arithmetic", labels=tuple(filter(None, found.groups())))
    action = word_of(rest, fixed=fixed) if rest and not rest.startswith("if(") else Word("unknown")
    return Word("unknown") if action.kind == "unknown" else Word("if", labels=action.labels, action=action)


def _procedure(text: str, fixed: bool) -> Word | None:
    at = 0
    while True:
        if found := _PROCEDURE.match(text, at) or (_JOINED.match(text, at) if fixed else None):
            return Word(found[1], found[2], prefix=text[:at])
        at += text.startswith(" ", at)
        found = _PREFIX.match(text, at)
        if found is None:
            return None
        at = found.end()
        if length := _LENGTH.match(text, at):
            at = length.end()
        at += text.startswith("*(", at)
        if text.startswith("(", at):
            at = _closed(text, at)
            if at < 0:
                return None


def _made(kind: str, found: re.Match[str], text: str, name: str) -> Word:
    groups = found.groupdict()
    label = groups.get("label") or ""
    if kind == "goto":
        return Word(kind, labels=(label.lstrip("0"),))
    if kind == "computed":
        return Word(kind, labels=tuple(each.lstrip("0") for each in groups["labels"].split(",") if each))
    if kind in ("call", "io"):
        return Word(kind, labels=tuple((one or other).lstrip("0") for one, other in _BRANCHES.findall(text)))
    if kind == "unit":
        return _unit(groups)
    if "whole" in groups and not _whole(text):
        return Word("exec")  # WHERE and FORALL with their action on the same line
    return Word(kind, groups.get("name") or name, label.lstrip("0"))


def _unit(groups: dict[str, str | None]) -> Word:
    for kind in ("program", "module", "submodule"):
        if groups.get(kind):
            return Word(kind, groups[kind] or "", prefix=groups.get("parent") or "")
    return Word("block data")


def _whole(text: str) -> bool:
    """Return whether a statement ends with the first parenthesis that it opens."""
    return first_parenthesis_closed(text) == len(text)
