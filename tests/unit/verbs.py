"""Runs the command line in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from incprof.cli.main import main

Capture = pytest.CaptureFixture[str]


def verb(*words: str) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs a verb and returns its status, output and errors."""

    def answer(capsys: Capture, *more: object) -> tuple[int, str, str]:
        status = main([*words, *map(str, more)])
        return status, *capsys.readouterr()

    return answer


def json_of(*words: str, is_silent: bool = True) -> Callable[..., Any]:
    """Return a function that runs a verb with --json, which must succeed, and returns its answer."""

    def answer(capsys: Capture, *more: object) -> Any:
        capsys.readouterr()
        status, out, err = verb(*words)(capsys, *more, "--json")
        assert status == 0
        assert err == "" or not is_silent
        return json.loads(out)

    return answer
