"""Libraries preloaded beside the collector pass events, and write images of their own into its stream."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from incprof.readers.stream.interval_images import ALLOCATIONS, interval_images
from incprof.record.launch import find_library
from tests.integration.collector import Recording
from tests.integration.conftest import Build, Record
from tests.paths import ROOT


@pytest.fixture
def host(build: Build) -> Path:
    return build("extension_host.c", flags="-O2 -pthread -fno-inline", pg=False)


@pytest.fixture
def beside(build: Build) -> str:
    """The libraries to preload: the collector and one more."""
    flags = f"-O2 -shared -fPIC -I{ROOT / 'runtime' / 'include'}"
    extension = build("extension_events.c", flags=flags, pg=False, output="extension.so")
    return f"{find_library(os.environ)}:{extension}"


def events(recording: Recording, name: str = "rank-00000.gmon") -> np.ndarray:
    """What the extension got back and wrote, (events, 6)."""
    images = interval_images(str(recording.directory / name), ALLOCATIONS)
    return np.frombuffer(b"".join(image.payload for image in images), np.uint64).reshape(-1, 6)


def recorded(record: Record, host: Path, beside: str, *words: str, **settings: float) -> Recording:
    env = {"INCPROF_EXE": str(host), "LD_PRELOAD": beside}
    return record([host, *words], env=env, interval=settings.get("interval", 0.1), rate=1000)


def test_events_come_back_with_their_words_and_paths(host: Path, beside: str, record: Record) -> None:
    recording = recorded(record, host, beside, "300", "threads")
    found = events(recording)
    told = recording.outcome.values()
    assert told["taken"] + told["lost"] == 900
    assert len(found) == told["taken"] >= 850
    assert (found[:, :4] == [1, 2, 3, 2**64 - 1]).all()
    assert len(np.unique(found[:, 5])) == 3
    main = {recording._path(int(node)) for node in np.unique(found[found[:, 5] == 0, 4])}
    assert main == {("main", "outer", "inner")}
    others = {recording._path(int(node)) for node in np.unique(found[found[:, 5] > 0, 4])}
    assert others == {("on_thread", "outer", "inner")}


def test_the_samples_beside_them_stay_right(host: Path, beside: str, record: Record) -> None:
    recording = recorded(record, host, beside, "600")
    paths = recording.paths()
    right = paths["main", "outer", "inner", "burn"] + paths["main", "burn"]
    assert right >= 0.9 * paths.total() > 0


def test_a_full_ring_loses_events_and_reports_it(host: Path, beside: str, record: Record) -> None:
    recording = recorded(record, host, beside, "1", "fast", interval=1.0)
    told = recording.outcome.values()
    assert told["taken"] + told["lost"] == 200001
    assert len(events(recording)) <= told["taken"]


def test_children_have_their_own_events(host: Path, beside: str, record: Record) -> None:
    recording = recorded(record, host, beside, "100", "fork")
    assert len(events(recording)) == recording.outcome.values()["taken"] == 100
    (child,) = (path for path in recording.directory.glob("rank-00000.*.gmon"))
    assert len(events(recording, child.name)) == 100


def test_an_event_in_a_vfork_child_is_lost(host: Path, beside: str, record: Record) -> None:
    recording = recorded(record, host, beside, "50", "vfork")
    assert recording.outcome.values() == {"taken": 50, "lost": 1, "later": 0, "off": 0}
    assert len(events(recording)) == 50


@pytest.mark.parametrize("env", [{"INCPROF_DISABLE": "1"}, {"INCPROF_FORMAT": "gmon"}, {"LD_PRELOAD": ""}])
def test_it_is_inert_where_nothing_is_recorded(host: Path, beside: str, record: Record, env: dict[str, str]) -> None:
    if "LD_PRELOAD" in env:
        env = {"LD_PRELOAD": beside.split(":")[1]}
    recording = record([host, "20"], env={"INCPROF_EXE": str(host), "LD_PRELOAD": beside, **env})
    assert recording.outcome.stderr.count("\n") <= 1
    assert recording.outcome.values().get("lost", 0) == 0
