"""The time that passed in beats, against scripts of beats whose place in time is known."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appekg.reader import read
from tests.unit.ekgfiles import EkgFile, beats

LENGTH = 100


def written(path, script, intervals):
    """Write what the library makes of a thread's beats: {id: [(begin, end or None)]}, not overlapping, in ns."""
    file = EkgFile(interval_ns=LENGTH)
    for number in range(intervals):
        low, high = number * LENGTH, (number + 1) * LENGTH
        rows = []
        for name, spans in script.items():
            ended = [end - begin for begin, end in spans if end is not None and low < end <= high]
            running = [high - begin for begin, end in spans if begin < high and (end is None or end > high)]
            if ended or running:
                rows.append(beats(*name, ended, running=running))
        file.interval(*rows)
    return file.end().save(path)


def overlap(spans, low, high):
    """Time of the spans that lies between low and high."""
    return sum(max(0, min(high, high if end is None else end) - max(low, begin)) for begin, end in spans)


moments = st.lists(st.integers(0, 700), min_size=2, max_size=12, unique=True).map(sorted)


def spans_of(times, still_open):
    pairs = list(zip(times[::2], times[1::2], strict=False))
    return [*pairs[:-1], (pairs[-1][0], None)] if still_open else pairs


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 2), st.sampled_from([1, 2, 9])),
        st.builds(spans_of, moments, st.booleans()),
        min_size=1,
        max_size=6,
    )
)
def test_time_is_where_it_passed(tmp_path_factory, script):
    found = read(written(tmp_path_factory.mktemp("run") / "rank-00000.ekg", script, 8))
    for row in found.rows:
        low = int(row["interval"]) * LENGTH
        assert row["busy_ns"] == overlap(script[int(row["thread"]), int(row["id"])], low, low + LENGTH)
    assert found.rows["busy_ns"].sum() == sum(overlap(spans, 0, 8 * LENGTH) for spans in script.values())


def busy(tmp_path, file):
    return read(file.end().save(tmp_path / "rank-00000.ekg")).rows["busy_ns"].tolist()


def test_recursion_counts_once(tmp_path):
    file = EkgFile(interval_ns=LENGTH).interval(beats(0, 1, [10, 30], nested_ns=10))
    assert busy(tmp_path, file) == [30]


def test_a_beat_that_was_dropped_leaves_its_time_where_it_ran(tmp_path):
    file = EkgFile(interval_ns=LENGTH).interval(beats(0, 1, running=[60])).interval(beats(0, 1, [5, 7]), abandoned=1)
    assert busy(tmp_path, file) == [60, 12]


def test_a_long_beat_across_a_lost_interval_has_no_more_time_than_there_is(tmp_path):
    file = EkgFile(interval_ns=LENGTH).interval(beats(0, 1, running=[60])).interval(beats(0, 1, running=[160]))
    lost = slice(*file.spans[1])
    file.interval(beats(0, 1, [230]), beats(0, 2, [5]))
    file.data[lost] = b""
    assert busy(tmp_path, file) == [60, 100, 5]


def test_filters_do_not_change_the_time(tmp_path):
    file = EkgFile(interval_ns=LENGTH)
    for number in range(3):
        file.interval(beats(0, 1, running=[60 + number * LENGTH]), beats(1, 1, running=[5 + number * LENGTH]))
    path = file.interval(beats(0, 1, [360]), beats(1, 1, [305])).end().save(tmp_path / "rank-00000.ekg")
    assert read(path).rows["busy_ns"].tolist() == [60, 5, 100, 100, 100, 100, 100, 100]
    found = read(path, threads=[1], since_s=250e-9)
    assert found.rows["busy_ns"].tolist() == [100, 100]
    assert found.rows["interval"].tolist() == [0, 1]
