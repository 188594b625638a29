import pytest

from incprof.analysis.compare import Condition, exceeds, parse, selected, selects
from incprof.errors import UsageError

UNITS = {"time": {"s": 1.0, "ms": 1e-3}, "calls": {"": 1.0}}


def condition(text: str) -> Condition:
    return parse(text, UNITS, "PHASE", "time>10%")


@pytest.mark.parametrize(
    ("text", "a", "b", "holds"),
    [
        ("time>10%", 1.0, 1.11, True), ("time>10%", 1.0, 1.1, False), ("time<-10%", 1.0, 0.89, True),
        ("time<-10%", 1.0, 1.2, False), ("time>5ms", 1.0, 1.006, True), ("time>5ms", 1.0, 1.005, False),
        ("time>0%", 0.0, 1e-9, True), ("time>0%", 0.0, 0.0, False), ("calls>0", 1e9, 1e9 + 1, True),
        ("calls>0", 0.3, 0.1 + 0.2, False), ("time>0%", 0.3, 0.1 + 0.2, False), ("time>0ms", 1e-9, 1.001e-9, True),
    ],
)  # fmt: skip
def test_a_change_exceeds_a_limit_by_more_than_rounding(text: str, a: float, b: float, holds: bool) -> None:
    assert exceeds(condition(text), a, b) is holds


def test_a_selector_is_a_name_or_a_pattern():
    assert selects("a[1]", ["a[1]"])
    assert selects("solve:*", ["x", "solve:body"])
    assert not selects("solve", ["solve:body"])


def test_a_selector_that_means_nothing_is_refused():
    def is_meant(selector: str, row: str) -> bool:
        return selects(selector, [row])

    assert selected(condition("time>1%"), ["a", "b"], is_meant, "phase") == ["a", "b"]
    assert selected(condition("b:time>1%"), ["a", "b"], is_meant, "phase") == ["b"]
    with pytest.raises(UsageError, match="neither run has a phase 'c'"):
        selected(condition("c:time>1%"), ["a", "b"], is_meant, "phase")
    assert selected(condition("time>1%"), [], is_meant, "phase") == []
