"""Sources for which the parser alone would take minutes, or gigabytes."""

import pytest
import tree_sitter_cpp
from tree_sitter import Language, Parser

from incprof.source.c.parse import parse_c
from incprof.source.parsing import parse_within_limits

CPP = Language(tree_sitter_cpp.language())
HOSTILE = {"open": b"a<" * 500_000, "names": b"a<b>::" * 10_000, "addresses": b"&a<" * 20_000, "calls": b"a(" * 500_000}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_would_take_too_much_is_given_up(text):
    assert parse_within_limits(CPP, text) is None


def test_any_other_text_has_the_tree_that_the_parser_gives():
    text = b"template <class T> T f(T a) { for (auto x : a) { g<T>(x, [&] { return a < x; }); } }\n" * 300
    for whole in (text, text[:-20], b"", b"}" + text + b"<"):
        tree = parse_within_limits(CPP, whole)
        assert tree is not None
        assert str(tree.root_node) == str(Parser(CPP).parse(whole).root_node)


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_such_a_file_has_no_function_that_a_heartbeat_can_go_into(text):
    found = parse_c("x.cpp", b"void before() { work(); }\nint x = " + text + b";\nvoid after() { work(); }\n", cpp=True)
    assert len(found.functions) <= 2


@pytest.mark.slow
def test_functions_beside_many_such_ones():
    """Each of them is parsed by itself, until it is clear what kind of a file this is."""
    text = b"".join(b"void f%d() { %b; }\n" % (at, b"&a<b>::" * 6000) for at in range(20))
    parse_c("x.cpp", text, cpp=True)
