"""Variants of a test: the first of them in `make test`, the rest in `make test-slow`."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.mark.structures import ParameterSet


def mostly_slow(fast: int, values: Iterable[object]) -> list[ParameterSet]:
    """Return parameters of which all but the first `fast` are marked slow; a tuple is one for several arguments."""
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=[pytest.mark.slow] * (number >= fast))
        for number, value in enumerate(values)
    ]
