import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from appekg.decimals import PADDING, floats, integers


def read(function, words):
    """Read words that stand in a line with commas between."""
    text = np.frombuffer(b"\n" * PADDING + b",".join(words) + b",", dtype=np.uint8)
    ends = PADDING + np.cumsum([len(word) + 1 for word in words]) - 1
    starts = ends - [len(word) for word in words]
    value, good = function(text, starts.astype(np.int64), ends.astype(np.int64))
    return value.tolist(), good.tolist()


def as_integer(word):
    plain = word.isdigit() and len(word) <= 19
    return int(word) if plain and int(word) < 2**63 else None


def as_float(word):
    if not word or not set(word) <= set(b"0123456789+-.eE") or len(word) > 40:
        return None
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


bytes_of_a_field = st.binary(max_size=24).map(lambda b: b.replace(b",", b"").replace(b"\n", b""))
written = (
    st.integers(0, 2**66).map(lambda n: b"%d" % n)
    | st.floats(0, allow_nan=False, allow_infinity=False).map(lambda x: repr(x).encode())
    | st.sampled_from([b"", b"-1", b"+1", b"1_0", b" 1", b"nan", b"inf", b"1e999", b"0x10", b"00012", b"1e5.3", b"-0"])
    | st.text("0123456789+-.eE", max_size=45).map(str.encode)
    | bytes_of_a_field
)


@given(st.lists(written, min_size=1, max_size=30))
@example([b"9223372036854775807", b"9223372036854775808", b"9999999999999999999", b"99999999999999999999"])
@example([b"12345678", b"123456789", b"1234567890123456", b"12345678901234567", b":", b"/", b"1:", b"0" * 20])
def test_integers_are_those_of_python(words):
    value, good = read(integers, words)
    expected = [as_integer(word) for word in words]
    assert good == [number is not None for number in expected]
    assert value == [number or 0 for number in expected]


@given(st.lists(written, min_size=1, max_size=30))
@example([b"1e5", b"2.771e14", b"1" * 16, b"9007199254740993", b"1" * 41])
def test_floats_are_those_of_python(words):
    value, good = read(floats, words)
    expected = [as_float(word) for word in words]
    assert good == [number is not None for number in expected]
    assert value == [number or 0.0 for number in expected]
