"""Shared objects with heartbeats that a program opens and closes: the library is a part of them, or beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_use import environment, run, totals

ROUNDS, BEATS = 20, 10


def plugin(ekg: EkgBuilder, name: str, *, shared: bool = False) -> Path:
    return ekg.program("plugin.c", own_flags="-fPIC -shared", shared=shared, output=f"{name}.so")


@pytest.mark.parametrize("shared", [False, True], ids=["static", "shared"])
def test_an_object_with_heartbeats_is_closed(ekg: EkgBuilder, tmp_path: Path, shared: bool) -> None:
    host = ekg.plain_program("opener.c", output="opener")
    words = [host, ROUNDS, plugin(ekg, "plugin", shared=shared)]
    assert run(*words, env=environment(EKG_DIR=tmp_path / "run")) == "all closed\n"
    assert totals(tmp_path / "run") == {(1, None): (ROUNDS * BEATS, 0)}
    assert len(list((tmp_path / "run").glob("*.ekg"))) == 1


def test_two_objects_that_each_hold_the_library(ekg: EkgBuilder, tmp_path: Path) -> None:
    host = ekg.plain_program("opener.c", output="opener")
    words = [host, ROUNDS, plugin(ekg, "one"), plugin(ekg, "two")]
    assert run(*words, env=environment(EKG_DIR=tmp_path / "run")) == "all closed\n"
    assert totals(tmp_path / "run") == {(1, None): (2 * ROUNDS * BEATS, 0)}


@pytest.mark.parametrize("shared", [False, True], ids=["static", "shared"])
def test_an_object_that_holds_the_library_beside_the_programs_own(
    ekg: EkgBuilder, tmp_path: Path, shared: bool
) -> None:
    host = ekg.program("opener.c", own_flags="-DOWN_BEATS", shared=shared, output="opener")
    words = [host, ROUNDS, plugin(ekg, "plugin")]
    assert run(*words, env=environment(EKG_DIR=tmp_path / "run")) == "all closed\n"
    assert totals(tmp_path / "run") == {(1, None): (ROUNDS * BEATS, 0), (2, None): (ROUNDS, 0)}
