import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.analysis.compare.match_names import pair_beats
from incprof.errors import UsageError
from incprof.systems.heartbeats.compare import METRICS, UNITS, broken, compare, condition_of
from tests.unit.beatmaker import beat


@pytest.mark.parametrize(
    ("text", "selector", "metric", "more", "limit", "relative"),
    [
        ("mean>10%", None, "mean", True, 10, True),
        (" mean > 10 % ", None, "mean", True, 10, True),
        ("rate<-10%", None, "rate", False, -10, True),
        ("mean>5ms", None, "mean", True, 5e-3, False),
        ("max>1.5us", None, "max", True, 1.5e-6, False),
        ("p95>2e-3s", None, "p95", True, 2e-3, False),
        ("busy>5", None, "busy", True, 5, False),
        ("busy>5points", None, "busy", True, 5, False),
        ("count<-100", None, "count", False, -100, False),
        ("rate<-2Hz", None, "rate", False, -2, False),
        ("rate<-2/s", None, "rate", False, -2, False),
        ("solve:mean>10%", "solve", "mean", True, 10, True),
        ("3:mean>10%", "3", "mean", True, 10, True),
        ("solve:body:mean>10%", "solve:body", "mean", True, 10, True),
        ("std::sort<int>:body:std>1ns", "std::sort<int>:body", "std", True, 1e-9, False),
        ("mean:mean>10%", "mean", "mean", True, 10, True),
        ("solve:*:max>.5%", "solve:*", "max", True, 0.5, True),
    ],
)
def test_grammar(text, selector, metric, more, limit, relative):
    found = condition_of(text)
    assert (found.selector, found.metric, found.more, found.relative) == (selector, metric, more, relative)
    assert found.limit == pytest.approx(limit)


@pytest.mark.parametrize(
    "text",
    ["", "mean", "mean>", "mean=10%", "mean>=10%", ">10%", "speed>10%", "mean>10", "mean>10Hz", "busy>5ms", "count>1s",
     "mean>ten%", "mean>10%%", "mean>nan%", "mean>inf%", ":mean>10%", "a:mean>1%;b", "mean>1e999%", "mean>" + "9" * 400,
     "poor", "mean>10% and max>5%"],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_one_line(text):
    with pytest.raises(UsageError) as problem:
        condition_of(text)
    assert "\n" not in str(problem.value)


@given(st.text(max_size=40))
def test_any_text_is_a_condition_or_refused(text):
    with contextlib.suppress(UsageError):
        assert condition_of(text).metric in METRICS


@given(
    name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(lambda t: t == t.strip()),
    metric=st.sampled_from(METRICS),
    operator=st.sampled_from("<>"),
    limit=st.decimals(-1000, 1000, places=3),
    data=st.data(),
)
def test_whatever_a_name_holds_the_condition_is_at_the_right(name, metric, operator, limit, data):
    unit = data.draw(st.sampled_from(["%", *UNITS[metric]]))
    found = condition_of(f"{name}:{metric}{operator}{limit}{unit}")
    assert (found.selector, found.metric, found.more) == (name, metric, operator == ">")
    assert found.limit == pytest.approx(float(limit) * UNITS[metric].get(unit, 1.0))


def judged(text, a, b):
    return [diff.pair.id for _, diff in broken([condition_of(text)], compare(pair_beats(a, b)))]


A = [beat(1, "solve:body", [10] * 9, 1.0e-3), beat(2, "io", [4] * 9, 1.0e-3)]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("mean>10%", [1]), ("mean>20%", []), ("mean>19.9%", [1]), ("io:mean>10%", []), ("solve:*:mean>10%", [1]),
        ("1:mean>10%", [1]), ("mean>100us", [1]), ("mean>200us", []), ("mean<-5%", [2]), ("rate<-40%", [2]),
        ("count<-17", [2]), ("count<-18", []), ("busy>0.1", [1]), ("busy>0.3", []), ("std>0%", []),
    ],
)  # fmt: skip
def test_conditions(text, ids):
    b = [beat(1, "solve:body", [10] * 9, 1.2e-3), beat(2, "io", [2] * 9, 0.9e-3)]
    assert judged(text, A, b) == ids


def test_a_limit_is_not_beyond_itself():
    assert judged("mean>10%", [beat(1, None, [3] * 9, 0.1)], [beat(1, None, [3] * 9, 0.1 * 1.1)]) == []
    assert judged("mean>0%", A, A) == judged("mean<0%", A, A) == judged("mean>0ns", A, A) == []


def test_a_vanished_phase_breaks_every_condition_on_it():
    for text in ("mean>10%", "mean<-10%", "count>5", "std>1%", "2:busy>1"):
        assert judged(text, A, A[:1]) == [2]
    assert judged("solve:body:mean>1%", A, A[:1]) == []


def test_a_phase_that_no_longer_ends_breaks_conditions_on_its_mean():
    stuck = [beat(1, "solve:body", [0] * 9, opens=[1] * 9), A[1]]
    assert judged("mean>10%", A, stuck) == [1]


def test_a_new_phase_has_no_baseline():
    assert judged("count>1%", A[:1], A) == []


def test_a_condition_that_cannot_fail_is_refused():
    with pytest.raises(UsageError, match="neither run has a heartbeat 'sovle'"):
        judged("sovle:mean>10%", A, A)
