import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incprof.analysis.sites.times import heaviest_callers
from incprof.analysis.thresholds import SITES
from incprof.model import PathTree


def tree(*nodes):
    """A tree from (parent, function) of the nodes after the root."""
    parent, function = zip((0, -1), *nodes, strict=True)
    return PathTree(np.array(parent), np.array(function), np.zeros(len(parent), dtype=np.int64))


def test_nearest_first_up_to_the_start():
    paths = tree((0, 0), (1, 1), (2, 2))
    assert heaviest_callers(paths, np.array([0, 0, 0, 5.0]), 2) == [1, 0]


def test_the_caller_of_most_of_the_time():
    paths = tree((0, 0), (1, 1), (1, 3), (2, 2), (3, 2))
    assert heaviest_callers(paths, np.array([0, 0, 0, 0, 2.0, 7.0]), 2) == [3, 0]
    # Three callers with a third each: none of them stands for it.
    paths = tree((0, 1), (0, 3), (0, 4), (1, 2), (2, 2), (3, 2))
    assert heaviest_callers(paths, np.array([0, 0, 0, 0, 1.0, 1.0, 1.0]), 2) == []


def test_recursion_and_lost_frames():
    paths = tree((0, 0), (1, 2), (2, 2), (3, 2))
    assert heaviest_callers(paths, np.array([0, 0, 0, 0, 1.0]), 2) == [0]
    paths = tree((0, -3), (1, 2))
    assert heaviest_callers(paths, np.array([0, 0, 1.0]), 2) == []
    assert heaviest_callers(paths, np.array([0, 0, 0.0]), 2) == []


@given(st.data())
def test_every_caller_stands_for_its_part(data):
    n = data.draw(st.integers(1, 12))
    nodes = [(data.draw(st.integers(0, i)), data.draw(st.integers(-1, 4))) for i in range(n)]
    paths = tree(*nodes)
    own = np.array([0.0, *(data.draw(st.sampled_from([0.0, 1.0, 3.0])) for _ in range(n))])
    found = heaviest_callers(paths, own, 2)
    assert 2 not in found
    assert len(set(found)) == len(found)

    def above(node):
        while node:
            node = int(paths.parent[node])
            yield int(paths.function[node])

    mine = [i for i in range(1, n + 1) if paths.function[i] == 2]
    total = sum(own[i] for i in mine)
    for caller in found:
        assert sum(own[i] for i in mine if caller in above(i)) >= SITES.caller * total > 0
