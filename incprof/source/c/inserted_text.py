"""The marks by which our texts in C and C++ are recognised and removed.

Every text that goes into a file is made here, in one of four shapes, and strip_c recognises these shapes only:

line    `    EKG_SCOPE(3); /* incprof */` with its line ending: inserted at the start of a line.
before  `ekg_end(3); /* incprof */ ` with one space after it: inserted before a token of the file, on its line.
after   ` } /* incprof */` with one space before it, ending in a brace: inserted after a token of the file, on its line.
within  `/* incprof: */ anything /* :incprof */`: inserted anywhere between two tokens, for parts of expressions.

Text of ours that is alone on a line is removed with the line, even if its indentation was changed; because `before` and
`after` share their line with a token of the file, nothing of the file is removed with them. Of several texts at one
offset, lines come first.
"""

from __future__ import annotations

import re

from incprof.source.model import recognised

INCLUDE = b"#include <appekg.h>"

_MARK = rb"[ \t]*+/\* incprof \*/"
_CALL = rb'(?:EKG_SCOPE|ekg_[a-z]+)\([^"()\n]*(?:"(?:\\.|[^"\\\n])*"[^"()\n]*)?\);'
_WITHIN = rb"/\* incprof: \*/(?:[^/\n]|/(?!\* incprof: \*/))*?/\* :incprof \*/"
_BEFORE = rb"(?:\{|%b)%b" % (_CALL, _MARK)
_CLOSE = rb"\}%b" % _MARK
_INCLUDED = rb"#[ \t]*include[ \t]*<appekg\.h>%b" % _MARK
_LINE = re.compile(
    rb"(?:\xef\xbb\xbf)?([ \t]*+(?:%b|%b|(?:%b[ \t]*+)*+(?:%b)?)[ \t]*+\r?\n)" % (_INCLUDED, _WITHIN, _BEFORE, _CLOSE)
)
# The first match counts: texts of ours (the possessive quantifier avoids quadratic time), or text that only quotes one.
_PIECE = re.compile(
    rb"(?P<within>%b)" % _WITHIN
    + rb"|(?P<space> ?)(?:(?:%b ?)++(?P<close>%b)?|(?P<alone>%b))" % (_BEFORE, _CLOSE, _CLOSE)
    + rb'|(?P<quoted>\\.|"(?:\\.|[^"\\])*"'
    + rb"|'(?:\\.|[^'\\]){1,12}'"  # shorter than any of ours: 1'000 is not a character
    + rb"|//.*"
    + rb"|/\*(?:.*?\*/|.*))"
)
_CALL_ONLY, _WITHIN_ONLY = re.compile(_CALL), re.compile(_WITHIN)


def line(text: bytes, indent: bytes, ending: bytes) -> bytes:
    r"""Return a line of its own: `text` is a call with its semicolon, a brace, INCLUDE, or a text from `inline_text`.

    text: Contents of the line. indent: Blanks and tabs before it. ending: b"\n" or b"\r\n".

    Raises:
        ValueError: strip_c would not recognise the line.
    """
    marked = text if text.startswith(b"/* incprof: */") else text + b" /* incprof */"
    return recognised(indent + marked + ending, _LINE)


def before(*calls: bytes, brace: bool = False) -> bytes:
    """Return calls, each with its semicolon, before a token of the file; after an opening brace if requested.

    Raises:
        ValueError: strip_c would not recognise one of them.
    """
    return (b"{ /* incprof */ " if brace else b"") + _marked(calls)


def after(*calls: bytes) -> bytes:
    """Return a closing brace after a token of the file, and calls before the brace.

    Raises:
        ValueError: strip_c would not recognise one of them.
    """
    return b" " + _marked(calls) + b"} /* incprof */"


def _marked(calls: tuple[bytes, ...]) -> bytes:
    return b"".join(recognised(call, _CALL_ONLY) + b" /* incprof */ " for call in calls)


def inline_text(text: bytes) -> bytes:
    """Return text of one line between two tokens, such as the halves of `value = ( ... ), ekg_end(3), value`.

    Raises:
        ValueError: strip_c would not recognise it.
    """
    return recognised(b"/* incprof: */" + text + b"/* :incprof */", _WITHIN_ONLY)


def strip_c(data: bytes) -> bytes:
    """Return the file without all insertions, byte for byte as it was before.

    Texts like ours in strings and comments of the file stay. Time is linear in the length of `data`.
    """
    parts, done = [], 0
    at = data.find(b"incprof")
    while at >= 0:
        start = data.rfind(b"\n", done, at) + 1 or done
        end = data.find(b"\n", at) + 1 or len(data)
        parts += [data[done:start], _line_without(data[start:end])]
        done = end
        at = data.find(b"incprof", end)
    return b"".join([*parts, data[done:]])


def _line_without(text: bytes) -> bytes:
    match = _LINE.fullmatch(text)
    if match and b"incprof" in match[1]:
        return text[: match.start(1)]
    return _PIECE.sub(_piece_without, text)


def _piece_without(piece: re.Match[bytes]) -> bytes:
    if piece["quoted"] is not None:
        return piece[0]
    # The space before texts that do not end in a brace is the file's.
    return b"" if piece["within"] or piece["close"] or piece["alone"] else piece["space"]
