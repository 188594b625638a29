"""Builds and runs programs that use libappekg, as their users do, and reads what they left."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import appekg
from appekg._library import Installation, find

ROOT = Path(__file__).resolve().parents[2]


@cache
def installation() -> Installation:
    """The library under test: the one that a user of this environment would get."""
    return find(os.environ)


def environment(**variables: object) -> dict[str, str]:
    """This process's environment without settings of heartbeats, and with those given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EKG_")}
    return kept | {name: str(value) for name, value in variables.items()}


def run(*words: object, cwd: Path | None = None, env: Mapping[str, str] | None = None, status: int = 0) -> str:
    """What a command prints on both streams; it must end with `status`."""
    done = subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        env=environment() if env is None else env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == status, done.stdout
    return done.stdout


def totals(directory: Path) -> dict[tuple[int, str | None], tuple[int, int]]:
    """Beats and pulses by id and name, over all files of a run that went well."""
    found = appekg.read(directory)
    assert not found.damaged
    assert found.warnings == ()
    answer = {}
    for number, beat in found.beats.items():
        rows = found.rows[found.rows["id"] == number]
        answer[number, beat.name] = (int(rows["count"].sum()), int(rows["pulses"].sum()))
    return answer
