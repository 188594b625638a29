"""Files that binaries name, found in trees that moved."""

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.errors import NoDataError
from incprof.source.source_tree import SourceTree, longest_common_end


@pytest.fixture
def tree(tmp_path):
    """A tree with the same name in several places."""
    root = tmp_path / "here" / "project"
    for path in ("src/util.c", "lib/util.c", "src/deep/main.c", "include/mesh.hpp", ".git/main.c"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("int x;\n")
    return root


def found(root, recorded):
    return SourceTree(root).find(recorded)


def test_where_it_was_compiled(tree):
    assert found(tree, str(tree / "src/util.c")) == "src/util.c"
    assert found(tree, str(tree / "src/deep/../util.c")) == "src/util.c"


@pytest.mark.parametrize(
    ("recorded", "path"),
    [
        ("/build/old/project/src/util.c", "src/util.c"),
        ("/build/old/obj/../lib/util.c", "lib/util.c"),
        ("../../src/util.c", "src/util.c"),
        ("lib/util.c", "lib/util.c"),
        ("./main.c", "src/deep/main.c"),
        ("/elsewhere/mesh.hpp", "include/mesh.hpp"),
    ],
)
def test_the_tree_moved(tree, recorded, path):
    assert found(tree, recorded) == path


def test_a_tree_of_which_a_part_is_given(tree):
    assert found(tree / "src", "/build/project/src/util.c") == "util.c"


def test_several_fit(tree):
    with pytest.raises(NoDataError, match=r"several files could be util\.c: lib/util\.c, src/util\.c"):
        found(tree, "util.c")
    with pytest.raises(NoDataError, match="several files"):
        found(tree, "/build/other/util.c")


def test_there_is_none(tree):
    with pytest.raises(NoDataError, match=r"its source, /usr/include/stl_algo\.h, is not below"):
        found(tree, "/usr/include/stl_algo.h")
    with pytest.raises(NoDataError, match="no such directory"):
        SourceTree(tree / "missing")


def test_links(tree, tmp_path):
    outside = tmp_path / "outside.c"
    outside.write_text("int y;\n")
    (tree / "src/outside.c").symlink_to(outside)
    (tree / "src/alias.c").symlink_to(tree / "lib/util.c")
    with pytest.raises(NoDataError, match="a link that leads out"):
        found(tree, "/build/src/outside.c")
    assert found(tree, "/build/src/alias.c") == "lib/util.c"
    # The recorded path itself is such a link.
    with pytest.raises(NoDataError, match="a link that leads out"):
        found(tree, str(tree / "src/outside.c"))


def test_a_link_and_what_it_leads_to_are_one_file(tree):
    (tree / "copy").mkdir()
    (tree / "copy/mesh.hpp").symlink_to(tree / "include/mesh.hpp")
    assert found(tree, "/x/mesh.hpp") == "include/mesh.hpp"


def test_the_root_is_reached_by_a_link(tree, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tree)
    assert found(link, str(link / "src/util.c")) == "src/util.c"


parts = st.lists(st.sampled_from(["a", "b", "c", ".."]), min_size=0, max_size=4)


@given(parts, st.lists(parts, max_size=5))
def test_longest_common_end(directory, others):
    recorded = "/".join(["", *directory, "f.c"])
    candidates = [posixpath.normpath("/".join([*(p for p in other if p != ".."), "f.c"])) for other in others]

    def common(candidate):
        one = posixpath.normpath(recorded).strip("/").split("/")[::-1]
        two = candidate.split("/")[::-1]
        return next((i for i, (x, y) in enumerate(zip(one, two, strict=False)) if x != y), min(len(one), len(two)))

    best = longest_common_end(recorded, candidates)
    most = max(map(common, candidates), default=0)
    longest = [c for c in candidates if common(c) == most]
    whole = [c for c in longest if len(c.split("/")) == most]
    assert sorted(best) == sorted(whole or longest)
    assert whole or set(best) == set(longest)


def test_a_copy_further_down_is_another_file(tree):
    (tree / "main.c").write_text("int y;\n")
    assert found(tree, "/build/old/project/main.c") == "main.c"
