"""What is put into C and C++ comes out again byte for byte, and nothing else does."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.source.c.inserted_text import INCLUDE, after, before, inline_text, line, strip_c

# Where a token starts in the middle of a line: what comes before it, and itself.
TOKENS = st.sampled_from(
    [b"x++;", b"return 1;", b"}", b"// note \\", b"\\", b"/* two", b'puts("a");', b"\x0c", b"\xff", b"#"]
)
LINES = st.lists(
    st.sampled_from(
        [b"int x;", b"{", b"}", b"", b"\t\t", b'"', b"'", b"// it's", b"\xff\xfe", b"#if 0", b"a /* b", b"*/ c"]
    ),
    max_size=6,
)
CALLS = st.sampled_from([b"EKG_SCOPE(3);", b"ekg_end(4);", b"ekg_init(NULL);", b'ekg_name(1, "a \\"b\\" (c)");'])
INDENTS = st.sampled_from([b"", b"    ", b"\t", b" \t "])
ENDINGS = st.sampled_from([b"\n", b"\r\n"])


@given(LINES, LINES, st.lists(CALLS, min_size=1, max_size=3), INDENTS, ENDINGS, st.booleans())
def test_lines(
    above: list[bytes], below: list[bytes], calls: list[bytes], indent: bytes, end: bytes, bom: bool
) -> None:
    first = (b"\xef\xbb\xbf" if bom else b"") + b"".join(text + end for text in above)
    last = end.join(below)
    made = b"".join(line(call, indent, end) for call in calls)
    assert strip_c(first + made + last) == first + last


@given(
    LINES,
    st.sampled_from([b"{", b"int f(void) { ", b"\xef\xbb\xbf", b"for (;;) "]),
    TOKENS,
    st.lists(CALLS, max_size=2),
)
def test_before_a_token(above: list[bytes], left: bytes, token: bytes, calls: list[bytes]) -> None:
    first = b"".join(text + b"\n" for text in above) + left
    assert strip_c(first + before(*calls, brace=True) + token + b"\n") == first + token + b"\n"


@given(
    TOKENS.filter(lambda token: token[:2] not in (b"//", b"/*", b"\\")), st.lists(CALLS, max_size=2), TOKENS, ENDINGS
)
def test_after_a_token(token: bytes, calls: list[bytes], right: bytes, end: bytes) -> None:
    assert strip_c(token + after(*calls) + after() + b" " + right + end) == token + b" " + right + end


@given(st.text("ab ;(){}=,\"'*/", max_size=20).filter(lambda text: "/*" not in text and "*/" not in text))
def test_within_an_expression(text: str) -> None:
    made = inline_text(text.encode())
    assert strip_c(b"return" + made + b" x" + made + b";") == b"return x;"


@given(st.binary(max_size=300).filter(lambda data: b"incprof */" not in data))
def test_bytes_without_our_marks_stay(data: bytes) -> None:
    assert strip_c(data) == data


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=4),
            st.sampled_from(
                [b"/* incprof */", b"EKG_SCOPE(1);", b"{", b"}", b" ", b"\n", b'"', b"/* incprof: */", b"incprof"]
            ),
        ),
        max_size=40,
    ).map(b"".join)
)
def test_nothing_but_texts_of_ours_is_taken(data: bytes) -> None:
    kept = strip_c(data)
    ours = re.compile(rb"\{|\}|EKG_SCOPE\(1\);|[ \t\r\n]|/\* :?incprof:? \*/")
    if b"/* incprof: */" not in data:
        assert ours.sub(b"", kept) == ours.sub(b"", data)


@pytest.mark.parametrize(
    "text",
    [
        b'char *s = "EKG_SCOPE(3); /* incprof */ ";\n',
        b"// put EKG_SCOPE(3); /* incprof */ there\n",
        b"EKG_SCOPE(3); /* incprof: by hand */\n",
        b"    EKG_SCOPE(3);\n",
        b"EKG_SCOPE(3); // incprof\n",
        b"#include <appekg.h>\n",
        b"my_call(3); /* incprof */\n",
        b"int incprof; /* incprof */\n",
        b"\xef\xbb\xbf\n",
    ],
)
def test_texts_of_the_user_stay(text: bytes) -> None:
    assert strip_c(text) == text


@pytest.mark.parametrize(
    "text",
    [
        b"void f()\n{\n\t\tEKG_SCOPE(3); /* incprof */\n\treturn;\n}\n",
        b"void f()\n{\nEKG_SCOPE(3);     /* incprof */   \r\n\treturn;\n}\n",
        b'void f()\n{\n  EKG_SCOPE(3); /* incprof */\n  ekg_name(3, "f:body"); /* incprof */\n\treturn;\n}\n',
    ],
)
def test_lines_that_were_indented_anew(text: bytes) -> None:
    assert strip_c(text) == b"void f()\n{\n\treturn;\n}\n"


def test_braces_that_were_laid_out_anew() -> None:
    made = b"for (;;) " + before(b"EKG_SCOPE(3);", brace=True) + b"x();" + after(b"ekg_end(3);") + b"\n"
    laid_out = made.replace(b"/* incprof */ ", b"/* incprof */\n    ").replace(b"x(); ", b"x();\n    ")
    assert re.sub(rb"\s+", b" ", strip_c(laid_out)) == b"for (;;) x(); "


@pytest.mark.parametrize(
    "make", [lambda text: line(text, b"", b"\n"), lambda text: before(text), lambda text: after(text)]
)
@pytest.mark.parametrize("text", [b"x();", b"EKG_SCOPE(3)", b"ekg_end(f(1));", b'ekg_name(1, "a\n");'])
def test_unrecognisable_texts_are_not_made(make: object, text: bytes) -> None:
    with pytest.raises(ValueError, match="of ours"):
        make(text)  # type: ignore[operator]


def test_the_line_that_includes() -> None:
    assert line(INCLUDE, b"", b"\n") == b"#include <appekg.h> /* incprof */\n"
    assert strip_c(b"\xef\xbb\xbf#include <appekg.h> /* incprof */\r\nint x;") == b"\xef\xbb\xbfint x;"


@pytest.mark.parametrize(
    "piece",
    [
        b"/* incprof: */",
        b'ekg_a("',
        b" ekg_a(); /* incprof */",
        b"/*",
        b"{",
        b" ",
        b"EKG_SCOPE(3); ",
        b"'",
        b'"\\',
        b"{ /* incprof */  ",
    ],
)
def test_a_line_of_megabytes(piece: bytes) -> None:
    """Done in time that is linear in its length; were it not, this would not end."""
    data = piece * (1 << 18) + b"incprof"
    assert len(strip_c(data)) <= len(data)


def test_numbers_with_apostrophes_hide_nothing() -> None:
    first, last = b"for (i = 0; i < 1'000; i++) ", b"f(2'000);"
    made = first + before(b"EKG_SCOPE(2);", brace=True) + last + after() + b"\n"
    assert strip_c(made) == first + last + b"\n"
