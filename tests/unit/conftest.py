"""What all tests in this process have in common."""

import os

import pytest


@pytest.fixture(autouse=True)
def as_eager_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """`incprof top` makes way for the job; the tests that come after it need not."""
    monkeypatch.setattr(os, "nice", lambda more: 0)
