"""Profiles of Firefox's profiler: as the browser saves them, as its viewer does, and as samply does."""

import gzip
import json

import pytest

from incprof.cli.main import main
from incprof.readers.run import open_run, read_profile
from soak.mutate import damaged, mutate_text
from soak.mutate_json import mutate_json_text
from tests.unit.elfwriter import Symbol, write_elf
from tests.unit.imports import bring, paths, put

SCHEMA = {"stack": 0, "time": 1, "eventDelay": 2}
RAW = {
    "meta": {"version": 24, "interval": 10, "startTime": 1.7e12, "product": "Firefox", "stackwalk": 1, "gcpoison": 0},
    "libs": [],
    "threads": [{
        "name": "GeckoMain", "processType": "default", "pid": 9, "tid": 9,
        "samples": {"schema": SCHEMA, "data": [[1, 10, 0], [1, 20], [2, 30], [None, 40], [3, 50]]},
        "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[None, 0], [0, 1], [1, 2], [0, 3]]},
        "frameTable": {"schema": {"location": 0, "line": 1}, "data": [[0], [1], [2], [3]]},
        "stringTable": ["(root)", "main (https://a.org/w.js:3:5)", "solve (https://a.org/w.js:9:1)",
                        "poll (in libc.so.6)"],
    }],
    "processes": [],
}  # fmt: skip


def processed(**more):
    """Samples of main, and of solve and io, which it calls."""
    thread = {
        "name": "app", "isMainThread": True, "processName": "app", "pid": "9", "tid": 9,
        "samples": {"length": 5, "stack": [0, 1, 1, 2, None], "time": [10, 20, 30, 40, 50], "weight": None,
                    "weightType": "samples"},
        "stackTable": {"length": 3, "prefix": [None, 0, 0], "frame": [0, 1, 2]},
        "frameTable": {"length": 3, "func": [0, 1, 2], "address": [0x1010, 0x2020, 0x3030], "line": [3, 9, None]},
        "funcTable": {"length": 3, "name": [0, 1, 2], "resource": [0, 0, -1], "fileName": [3, 3, None],
                      "lineNumber": [None, None, None]},
        "resourceTable": {"length": 1, "lib": [0], "name": [4], "type": [1]},
        "stringArray": ["main", "solve", "io", "/home/me/app.c", "app"],
    }  # fmt: skip
    meta = {"preprocessedProfileVersion": 50, "interval": 10, "startTime": 0, "product": "app"}
    libs = [{"name": "app", "path": "/home/me/app", "debugName": "app"}]
    return {"meta": meta, "libs": libs, "threads": [thread | more]}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_what_the_browser_saves(pack, tmp_path):
    profile = bring(tmp_path, put(tmp_path / "p.json", pack(json.dumps(RAW).encode())))
    assert paths(profile) == {"main": 0.02, "main;solve": 0.01, "": 0.02}
    assert profile.metadata.app == "Firefox"


def test_a_process_that_began_later(tmp_path):
    later = {**RAW, "meta": {**RAW["meta"], "startTime": 1.7e12 + 1000}}
    later["threads"] = [{**RAW["threads"][0], "pid": 10, "processName": "Web Content"}]
    profile = bring(tmp_path, put(tmp_path / "p.json", {**RAW, "threads": [], "processes": [later]}))
    assert profile.metadata.app == "Web Content"
    assert profile.metadata.raw["start_mono_ns"] == pytest.approx(1e9, abs=1e7)


def test_what_its_viewer_saves(tmp_path):
    found = processed()
    profile = bring(tmp_path, put(tmp_path / "p.json", found))
    assert paths(profile) == {"main": 0.01, "main;solve": 0.02, "main;io": 0.01, "": 0.01}
    thread = found["threads"][0]
    shared = {
        name: thread.pop(name) for name in ("stackTable", "frameTable", "funcTable", "resourceTable", "stringArray")
    }
    thread["samples"]["timeDeltas"] = [10] * 5
    del thread["samples"]["time"]
    again = bring(tmp_path, put(tmp_path / "q.json", found | {"shared": shared}), name="again")
    assert paths(again) == paths(profile)


def test_cpu_time_of_samples(tmp_path):
    """Where it was measured, threads that wait have none."""
    found = processed()
    found["threads"][0]["samples"]["threadCPUDelta"] = [None, 10_000, 0, 5_000, 0]
    found["meta"]["sampleUnits"] = {"time": "ms", "threadCPUDelta": "µs"}
    profile = bring(tmp_path, put(tmp_path / "p.json", found), "-r", "1000")
    assert paths(profile) == {"main;solve": 0.01, "main;io": 0.005}


def test_addresses_without_names(tmp_path, capsys):
    """As samply saves them: the files that ran know the names."""
    app = tmp_path / "app"
    write_elf(app, [Symbol("main", 0x1000), Symbol("solve", 0x2000)], build_id="ab" * 20, text=(0x1000, 0x4000))
    found = processed(stringArray=["0x1010", "0x2020", "0x3030", "", "app"])
    found["libs"][0]["path"] = str(app)
    found["threads"][0]["funcTable"] |= {"fileName": [None] * 3, "resource": [0, 0, 0]}
    file = put(tmp_path / "p.json", found)
    profile = bring(tmp_path, file)
    assert paths(profile) == {"main": 0.01, "main;solve": 0.02, "main;[unknown in app]": 0.01, "": 0.01}
    app.unlink()
    assert main(["import", str(file), "-o", str(tmp_path / "again")]) == 0
    assert "functions of app have no names" in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(60))
def test_damaged(seed, tmp_path):
    data = json.dumps((RAW, processed())[seed % 2]).encode()
    file = put(tmp_path / "p.json", damaged(seed, data, mutate_text if seed % 4 else mutate_json_text))
    status = main(["import", str(file), "-o", str(tmp_path / "run"), "--from", "firefox"])
    assert status in (0, 4)
    if not status:
        read_profile(open_run(tmp_path / "run"), libs="named", inlined=True)
