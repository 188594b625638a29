"""What all tests in this process have in common."""

import functools
import os
from collections.abc import Iterator
from unittest.mock import patch

import jinja2
import pytest


@pytest.fixture(autouse=True)
def as_eager_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """`incprof top` makes way for the job; the tests that come after it need not."""
    monkeypatch.setattr(os, "nice", lambda more: 0)


class Compiled(jinja2.BytecodeCache):
    """Templates of the pages, compiled once for all tests of a process: that takes a third of the time of a page."""

    def __init__(self) -> None:
        self.code: dict[str, bytes] = {}

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """Take the code of a template that was compiled before."""
        if bucket.key in self.code:
            bucket.bytecode_from_string(self.code[bucket.key])

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """Keep the code of a template."""
        self.code[bucket.key] = bucket.bytecode_to_string()


@pytest.fixture(scope="session", autouse=True)
def templates() -> Iterator[None]:
    """Let all environments of jinja2 share what is compiled."""
    with patch.object(jinja2, "Environment", functools.partial(jinja2.Environment, bytecode_cache=Compiled())):
        yield
