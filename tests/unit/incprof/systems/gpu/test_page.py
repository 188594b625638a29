"""The page of a run with device work: lanes, devices, kernels, and kernels below their launching paths."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from incprof.cli.main import main
from incprof.readers.foreign.device_work import TO_DEVICE, DeviceWork
from incprof.readers.foreign.timeline import Frame, Paths, Timeline
from incprof.readers.foreign.write import write_timeline

MAIN = Frame("", "main", "app.c", 3, begins=1)
RELAX, SHUTTLE = Frame("", "relax", "app.c", 20, begins=18), Frame("", "shuttle", "app.c", 41, begins=40)


def made(folder: Path) -> Path:
    """A run whose first half launches kernels from `relax`, and whose second half copies from `shuttle`."""
    paths = Paths()
    timeline = Timeline("app", paths, 1e-3)
    relax, shuttle = (paths.add([MAIN, each])[0] for each in (RELAX, SHUTTLE))
    for at in range(4000):
        timeline.add_at(relax if at < 2000 else shuttle, "", 1e-3 * (at + 1), 1e-3)
    work = DeviceWork()
    work.devices = {0: "NVIDIA H200"}
    for at in range(200):
        work.kernel("_Z5relaxPdi", 0, 7, 0.01 * at, 0.008, relax)
        work.kernel("<b>tiny</b>", 0, 13, 0.01 * at + 0.001, 0.001, relax if at % 2 else -1)
        work.copy(TO_DEVICE, 1, 7, 2 + 0.01 * at, 0.004, 10**6, shuttle)
    work.kernel("lost", 1, 7, 2.0, 0.5)
    timeline.device = work
    directory = folder / "run"
    directory.mkdir()
    write_timeline(timeline, directory, "rank-00000.gmon", kind="test", interval_s=0.2, rank=0)
    return directory


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = made(tmp_path_factory.mktemp("gpu"))
    assert main(["report", str(directory), "-o", str(directory / "page.html")]) == 0
    return (directory / "page.html").read_text()


def cells(page: str, table: str) -> list[list[str]]:
    """Return the text of a table's cells."""
    found = re.search(rf'<table class="{table}">.*?<tbody>(.*?)</tbody>', page, re.DOTALL)
    assert found is not None
    rows = re.findall(r"<tr>(.*?)</tr>", found[1], re.DOTALL)
    return [
        [re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", cell)).strip() for cell in re.split(r"</t[hd]>", row)[:-1]]
        for row in rows
    ]


def test_devices_and_their_streams(page: str) -> None:
    assert cells(page, "gpu-devices") == [
        ["GPU 0", "NVIDIA H200", "40.0 %", "1.6 s", "7: 40 %, 13: 5 %"],
        ["GPU 1", "-", "27.5 %", "1.1 s", "7: 27 %"],
    ]


def test_kernels_with_what_launches_them(page: str) -> None:
    rows = cells(page, "kernels")
    assert [row[0] for row in rows] == ["relax", "lost", "&lt;b&gt;tiny&lt;/b&gt;"]
    assert rows[0][1:] == ["relax app.c:20", "69.6 %", "1.6 s", "200", "8 ms", "0"]
    # Half of its launches have no path: they are divided among the paths that it has.
    assert rows[2][4] == "200"
    assert [row[1] for row in rows] == ["relax app.c:20", "-", "relax app.c:20"]


def test_kernels_lie_below_the_functions_that_launch_them(page: str) -> None:
    flame = re.search(r'<svg class="device-flame".*?</svg></svg>', page, re.DOTALL)
    assert flame is not None
    box = r'<svg x="([\d.]+)%" y="(\d+)" width="([\d.]+)%" height="16"><title>([^:]*):[^<]*</title><rect class="(\w+)"'
    boxes = {name: (float(x), int(y), float(width), kind) for x, y, width, name, kind in re.findall(box, flame[0])}
    assert boxes["main"][:3] == pytest.approx((0.0, 0, 78.261), abs=1e-3)
    assert boxes["relax(double*, int)"] == (0.0, 34, pytest.approx(69.565, abs=1e-3), "kernel")
    assert boxes["relax"][1] == 17
    assert boxes["lost"][:2] == (pytest.approx(78.261, abs=1e-3), 17)
    assert boxes["unknown path"][3] == "caller"
    assert ">unknown path</text>" in flame[0]


def test_copies_with_what_launches_them(page: str) -> None:
    assert cells(page, "copies") == [["host to device", "shuttle app.c:41", "200 MB", "800 ms", "200", "250 MB/s"]]


def test_lanes_of_devices_and_streams(page: str) -> None:
    for lane in ("GPU 0", "GPU 1", "GPU 0, stream 7", "GPU 0, stream 13"):
        assert f'"name":"{lane}"' in page
    assert '"name":"GPU 1, stream 7"' not in page


def test_sentences_of_the_card(page: str) -> None:
    text = re.sub(r"<[^>]*>", "", page)
    assert "2 GPUs are busy 40 % of the time; host and device are both busy 80 %." in text
    assert "Kernels: relax 89 %, 200 of 8 ms on average, launched by relax (app.c:20)" in text
    assert "the GPU idles 45 % of the phase, while shuttle runs" in text


def test_kernels_of_threads_without_functions_are_within_those_of_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = Paths()
    timeline = Timeline("app", paths, 1e-3)
    step = paths.add([MAIN, RELAX])[0]
    leaves = [paths.add([MAIN, RELAX, Frame("", name, "app.c", 50)])[0] for name in ("ahead", "optimize")]
    for at in range(2000):
        timeline.add_at(leaves[at // 5 % 2] if at % 20 else step, "", 1e-3 * (at + 1), 1e-3)
    timeline.add_at(paths.add([Frame("", "helper", "app.c", 90)])[0], "", 1.0, 1e-3, thread=1)
    work = DeviceWork()
    for at in range(200):
        work.kernel("gemm_grad", 0, 7, 0.01 * at, 0.008, 0)
        work.kernel("unsampled", 0, 7, 0.01 * at, 0.001)
    timeline.device = work
    directory = tmp_path / "run"
    directory.mkdir()
    write_timeline(timeline, directory, "rank-00000.gmon", kind="test", interval_s=0.2, rank=0)
    assert main(["phases", str(directory), "--card", "--json"]) == 0
    cards = [phase["card"]["device"] for phase in json.loads(capsys.readouterr().out)["phases"]]
    found = {kernel["name"]: (kernel["path"], kernel["within"]) for card in cards for kernel in card["kernels"]}
    assert found == {"gemm_grad": ([], ["main", "relax"]), "unsampled": ([], [])}
    assert main(["report", str(directory), "-o", str(tmp_path / "page.html")]) == 0
    rows = cells((tmp_path / "page.html").read_text(), "kernels")
    assert [row[:2] for row in rows] == [["gemm_grad", "within relax"], ["unsampled", "-"]]


def test_a_run_without_devices_has_no_such_part(tmp_path: Path) -> None:
    timeline = Timeline("app", Paths(), 1e-3)
    for at in range(1000):
        timeline.add([MAIN], 1e-3 * (at + 1), 1e-3)
    directory = tmp_path / "run"
    directory.mkdir()
    write_timeline(timeline, directory, "rank-00000.gmon", kind="test", interval_s=0.2, rank=0)
    assert main(["report", str(directory), "-o", str(tmp_path / "page.html")]) == 0
    assert "gpu-title" not in (tmp_path / "page.html").read_text()
