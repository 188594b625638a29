import numpy as np
import pytest

from incprof.model import NodeSeries


def series(**changed: object) -> NodeSeries:
    fields: dict[str, object] = {
        "node": "n1",
        "times": np.array([10.0, 11.0, 13.0]),
        "names": ("instructions", "pdu"),
        "units": ("1/s", "W"),
        "values": np.array([[1e9, 200.0], [2e9, np.nan], [3e9, 240.0]]),
        "power": "pdu",
    }
    return NodeSeries(**{**fields, **changed})  # type: ignore[arg-type]


def test_power_and_counters_are_distinguished():
    node = series()
    assert node.counters == ("instructions",)
    np.testing.assert_array_equal(node.watts, [200.0, np.nan, 240.0])
    assert node.period_s == 1.5
    assert series(power=None).watts is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("times", np.array([10.0, 11.0])),
        ("times", np.array([10.0, 10.0, 11.0])),
        ("times", np.array([10.0, np.nan, 11.0])),
        ("names", ("instructions",)),
        ("names", ("pdu", "pdu")),
        ("units", ("W",)),
        ("values", np.zeros(3)),
        ("power", "ipmi"),
    ],
)
def test_what_does_not_belong_together_is_refused(field, value):
    with pytest.raises(ValueError, match=r"."):
        series(**{field: value})
