import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import random_array as sparse_random

from incprof.analysis.explain.site_reasons import SiteEvidence
from incprof.analysis.thresholds import OPTIONS
from incprof.analysis.views.timed_calltree import ROOT_FRAME
from incprof.cli.main import main
from incprof.cli.verbs.report import default_target
from incprof.report.page.html import SCRIPTS, asset
from incprof.report.page.page_data import _by_cell, _series, _tree, embedded
from incprof.report.page.page_text import why_site
from incprof.report.words.display_names import SHORT
from incprof.study.run_page import over_time
from tests.unit.ekgfiles import EkgFile, beats, simple_run
from tests.unit.elfwriter import Symbol, write_elf
from tests.unit.manyranks import MIXES, write_rank
from tests.unit.profiles import two_phase_run
from tests.unit.streamwriter import BASE, STEP, UNKNOWN, Sample, StreamWriter, arc, histogram
from tests.unit.synthetic import make_profile
from tests.unit.verbs import verb

report = verb("report")


class Outline(HTMLParser):
    """Elements that are not closed, and the text of those that name a section."""

    VOID = ("meta", "input", "br")

    def __init__(self):
        super().__init__()
        self.open, self.heads, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        self.ids += [value for key, value in attrs if key == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2" and data.strip():
            self.heads.append(data.strip())


def outline(text):
    found = Outline()
    found.feed(text)
    found.close()
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    return found


def data_of(text):
    return json.loads(text.split('id="data">')[1].split("</script>")[0])


@pytest.fixture
def run(tmp_path):
    return two_phase_run(tmp_path / "run")


def test_the_page_lies_beside_the_directory(run, tmp_path, capsys):
    status, out, err = report(capsys, f"{run}/")
    assert (status, out) == (0, "")
    assert re.fullmatch(r"incprof: .*/run\.html, 0\.\d+ MB\n", err)
    page = (tmp_path / "run.html").read_text()
    wanted = [
        "Over time",
        "Phases",
        "What each phase uses and waits for",
        "What next",
        "Flame graph",
        "Step tree",
        "Steps of each phase",
        "Hottest functions",
        "Sites",
        "Parts of the run",
    ]
    assert outline(page).heads == [*wanted, "Why 2 phases", "Recording"]
    status, _, err = report(capsys, run)
    assert (status, err) == (2, f"incprof: {run}.html exists: give --force to replace it, or another name\n")
    assert report(capsys, run, "--force")[0] == 0
    assert (tmp_path / "run.html").read_text() == page


def test_the_page_of_a_directory_without_a_name_of_its_own(run, capsys, monkeypatch):
    monkeypatch.chdir(run)
    assert default_target(".") == "../run.html"
    assert default_target("x/..") == "../run.html"
    (run / "symbols").mkdir(exist_ok=True)
    monkeypatch.chdir(run / "symbols")
    assert default_target("..") == "../../run.html"


@pytest.mark.slow
def test_stdout_is_utf_8_and_a_full_disk_is_named(run):
    command = [sys.executable, "-m", "incprof", "report", str(run), "-o"]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*command, "-"], env=ascii_only, capture_output=True, check=True)
    assert "\u25cf" in done.stdout.decode()
    done = subprocess.run([*command, "/dev/full", "--force"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "incprof: /dev/full: No space left on device\n")


def test_same_input_same_bytes(run, capsys, monkeypatch):
    first = report(capsys, run, "-o", "-")[1]
    monkeypatch.setenv("PYTHONHASHSEED", "77")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert report(capsys, run, "-o", "-")[1] == first
    assert report(capsys, run, "-o", "-", "--jobs", "2")[1] == first


def test_nothing_is_fetched_and_only_our_scripts_run(run, capsys):
    page = report(capsys, run, "-o", "-")[1]
    assert set(re.findall(r"""<[^>]* (?:src|href)=(\S+?)[ >]""", page.split("<script")[0])) == {'"#timeline"'}
    assert "default-src 'none'; script-src 'sha256-" in page.replace("&#39;", "'")
    assert page.count("<script") == 2
    script = sum(len(asset(name)) for name in SCRIPTS)
    assert script < 300_000


def test_what_the_scripts_read(run, capsys):
    data = data_of(report(capsys, run, "-o", "-")[1])
    assert [phase["name"] for phase in data["phases"]] == ["solve", "write_out"]
    assert data["time"]["label"] == [0] * 10 + [1] * 10
    assert (data["time"]["start"][:2], data["time"]["end"][-1], data["time"]["step"]) == ([0, 1], 20, 1)
    tree, names = data["tree"], [frame["name"] for frame in data["tree"]["frames"]]
    assert tree["frames"][tree["frame"][0]]["function"] == ROOT_FRAME
    ticks = {}
    for cell, label in zip(data["cells"]["ticks"], data["cells"]["label"], strict=True):
        node = 0
        for step, number in zip(cell[::2], cell[1::2], strict=True):
            node += step
            key = names[tree["frame"][node]], label
            ticks[key] = ticks.get(key, 0) + number
    weights = sum(88 + i % 3 for i in range(10)), sum(88 + i % 3 for i in range(10, 20))
    assert ticks["solve", 0] == weights[0]
    assert ticks["write_out", 1] == weights[1]
    assert ticks["[libm.so.6]", 0] == 100
    assert ("solve", 1) not in ticks
    # All of them: 5 calls of write_out in each interval of its phase.
    calls = sum(sum(cell[1::2]) for cell in data["calls"]["cells"])
    assert calls == 50
    total = np.array(data["series"]["values"]).sum(axis=0)
    assert total == pytest.approx([(100 + i % 3) / 100 for i in range(20)])


def test_the_page_gives_reasons(run, capsys):
    page = report(capsys, run, "-o", "-")[1].replace("\u00a0", " ")
    assert main(["phases", str(run), "--explain"]) == 0
    told = re.sub(r"\n +", " ", capsys.readouterr().out)
    for words in (
        "k = 2 groups, of samples in time: between every two of them, the share of some",
        "nearest is phase 1, gap ",
        "holds 98 % of the phase, and 100 % of its share in all phases is here",
        "not its caller main: ",
        "unner-up: ",
    ):
        assert words in told
        assert words[0].upper() + words[1:] in page or words in page, words


def test_parts_of_the_run_are_a_tree_down_to_the_phases(tmp_path, capsys):
    writer = StreamWriter(["main", "load", "solve", "sweep", "reduce"])
    for path, intervals in (("main;load", 20), ("main;solve;sweep", 30), ("main;solve;reduce", 30)):
        for _ in range(intervals):
            writer.interval([Sample(path)] * 100)
    writer.end()
    _, page, _ = report(capsys, writer.save(tmp_path / "run"), "-o", "-")
    Outline().feed(page)
    tree = page[page.index("Parts of the run") : page.index('id="why-title"')]
    lines = re.findall(
        r"<span title=.*?>(\w+)</span> ([\d.]+)\s%, ([^<]*\w)(?: <span class=\"chip\" data-phase=\"(\d)\")?", tree
    )
    assert [(name, phase) for name, _, _, phase in lines] == [
        ("main", ""), ("load", "0"), ("solve", ""), ("sweep", "1"), ("reduce", "2")
    ]  # fmt: skip
    assert lines[3][1:3] == ("37.5", "20 s to 50 s")
    assert tree.count("<details open>") == 2


def test_a_site_of_several_phases_gives_a_reason_in_each():
    site = SiteEvidence(
        1, "solve", "body", "self time", 0.9, None, 0.9, 5, 5, 5, 5.0, True, 0.1, None, None, None, None
    )
    result = SimpleNamespace(phases=[SimpleNamespace(id=0), SimpleNamespace(id=1)], options=OPTIONS)
    why = SimpleNamespace(sites=((site,), (site,)))
    both = why_site(result, why, SHORT, "solve", (0, 1))
    assert [line.split(": ")[0] for line in both] == ["Phase 0", "Phase 1"]
    assert why_site(result, why, SHORT, "solve", (1,))[0].startswith("Runs in 90\u00a0%")
    assert why_site(result, why, SHORT, "other", (0, 1)) == []
    assert why_site(result, None, SHORT, "solve", (0,)) == []


def test_libraries_can_be_left_out(run, capsys):
    assert "[libm.so.6]" in report(capsys, run, "-o", "-")[1]
    assert "[libm.so.6]" not in report(capsys, run, "-o", "-", "--libs", "drop")[1]


def test_a_directory_of_gmon_files(tmp_path, capsys):
    exe = tmp_path / "bin" / "app"
    names = ["main", "solve", "io"]
    write_elf(
        exe, [Symbol(n, BASE + STEP * i) for i, n in enumerate(names)], build_id="ab" * 20, text=(BASE, BASE + 3 * STEP)
    )
    run = tmp_path / "gmon"
    run.mkdir()
    for i in range(12):
        counts = [0] * (3 * STEP // 4)
        counts[STEP // 4 + 3], counts[2 * STEP // 4 + 3] = 100 * min(i + 1, 6), 100 * max(i - 5, 0)
        data = b"gmon\x01\0\0\0" + bytes(12) + histogram(BASE, counts) + arc(BASE + 5, BASE + STEP + 4, i)
        (run / f"gmon-{i}").write_bytes(data)
    status, page, err = report(capsys, run, "--exe", exe, "-o", "-")
    assert (status, err) == (0, "")
    assert "This recording has no call paths" in page
    assert "missing: self times and calls only" in page
    assert {"solve", "io"} <= {frame["name"] for frame in data_of(page)["tree"]["frames"]}


def test_one_interval_without_calls(tmp_path, capsys):
    writer = StreamWriter()
    writer.interval([Sample("main;solve", weight=50)])
    writer.end()
    status, page, _ = report(capsys, writer.save(tmp_path / "run"), "-o", "-")
    assert status == 0
    assert outline(page).heads[-2:] == ["Why 1 phase", "Recording"]
    assert sum(map(len, data_of(page)["calls"]["cells"])) == 0


def test_a_program_without_symbols(tmp_path, capsys):
    run = two_phase_run(tmp_path / "run")
    shutil.rmtree(run / "symbols")
    status, page, err = report(capsys, run, "-o", "-")
    assert status == 0
    assert err == "incprof: /nowhere/app: no symbols: all of its time is shown as [unknown in app]\n"
    assert err.removeprefix("incprof: ").strip() in page
    assert [phase["name"] for phase in data_of(page)["phases"]] == ["[unknown in app]"]


def test_ranks_and_one_that_cannot_be_read(tmp_path, capsys):
    run = two_phase_run(tmp_path / "run", ranks=range(4))
    (run / "rank-00002.gmon").write_bytes(b"nonsense")
    status, page, err = report(capsys, run, "-o", "-")
    assert status == 5
    (line,) = err.splitlines()
    assert line.startswith("incprof: rank 2 is left out: ")
    assert "rank-00002.gmon: not an incprof stream" in line
    ranks = data_of(page)["ranks"]
    (group,) = ranks["groups"]
    assert [(row["rank"], row["agreement"]) for row in group["rows"]] == [(0, 1), (1, 1), (3, 1)]
    assert (group["row"]["name"], group["row"]["ranks"], group["row"]["number"]) == ("0-1, 3", [[0, 1], [3, 3]], 3)
    # Ten bins in each of two phases.
    assert group["rows"][2]["label"] == [0, 10, 1, 10]
    assert ranks["unread"] == [2]
    assert "1 rank could not be read" in page
    assert ranks == data_of(report(capsys, run, "-o", "-", "--jobs", "2")[1])["ranks"]
    assert data_of(report(capsys, run, "-o", "-", "--one-rank")[1])["ranks"] is None


def test_imbalance_and_stragglers(tmp_path, capsys):
    slow, usual = ({**MIXES, "solve": {"main;solve": ticks, "main": 5}} for ticks in (90, 60))
    for rank in range(8):
        write_rank(tmp_path / "run", rank, mixes=slow if rank == 5 else usual)
    write_rank(tmp_path / "run", 8, (("master", 60),))
    status, page, _ = report(capsys, tmp_path / "run", "-o", "-")
    assert status == 0
    outline(page)
    groups = data_of(page)["ranks"]["groups"]
    assert [group["row"]["name"] for group in groups] == ["0-7", "8"]
    assert groups[1]["rows"] == []
    solve = next(phase["id"] for phase in data_of(page)["phases"] if phase["name"] == "solve")
    section = page.split('id="ranks-title"')[1].split("</section>")[0]
    balance, stragglers = (part.split("</table>")[0] for part in section.split("<tbody>")[1:])
    row = next(row for row in balance.split("<tr>") if f'data-phase="{solve}"' in row)
    assert 'data-rank="5"' in row
    cells = re.findall(r'<td class="number">(.*?)</td>', row)
    # 95 ticks of an interval instead of 65: the most over the mean of eight ranks.
    assert cells[0] == "8"
    assert 30 <= float(cells[4].split()[0]) <= 45
    assert re.findall(r'data-rank="(\d+)"', stragglers) == ["5"]
    assert re.findall(r'<span title="(.*?)">', stragglers)[0] == "solve"
    assert "like no other: 8" in section


def test_processes_side_by_side_are_ranks(run, capsys):
    assert "<dt>Rank</dt><dd>0</dd>" in report(capsys, run, "-o", "-")[1]
    for pid in (17, 18):
        shutil.copy(run / "rank-00000.gmon", run / f"rank-00000.{pid}.gmon")
    page = report(capsys, run, "-o", "-")[1]
    assert "<dt>Rank</dt><dd>0 of 3 ranks</dd>" in page


def test_the_programs_of_a_job(tmp_path, capsys):
    """With when they ran; spans that a page cannot show apart are one."""
    starts = {"work": [0], "</sort>": [20, 20.5, 20.501]}
    for pid, (name, start_s) in enumerate((name, start_s) for name, times in starts.items() for start_s in times):
        writer = StreamWriter(["main"], app=name, pid=pid, ranks=1, start_mono_ns=round(1e9 * (100 + start_s)))
        length_s = 20 if name == "work" else 0.2
        writer.interval([Sample("main", weight=99)], duration_s=length_s, counters={2: round(5e8 * length_s)})
        writer.end()
        writer.save(tmp_path / "run", f"rank-00000.{pid}.gmon")
    assert report(capsys, tmp_path / "run")[0] == 0
    page = (tmp_path / "run.html").read_text()
    assert outline(page).heads[0] == "Programs of the job"
    rows = page.split('<table class="job">')[1].split("</table>")[0].split("<tr>")[2:]
    assert ["work" in rows[0], "shown (others: --program NAME)" in rows[0]] == [True, True]
    assert ["&lt;/sort&gt;" in rows[1], "shown" in rows[1]] == [True, False]
    spans = [re.findall(r'class="part" x="([\d.]+)" width="([\d.]+)"', row.split("when")[1]) for row in rows]
    assert spans == [[("0.0", "96.61")], [("96.61", "0.97"), ("99.03", "0.97")]]


def test_heartbeats(run, tmp_path, capsys):
    status, page, _ = report(capsys, run, "--heartbeats", simple_run(tmp_path / "ekg"), "-o", "-")
    assert status == 0
    beats = data_of(page)["beats"]
    assert [(lane["name"], lane["values"][0], lane["phase"]) for lane in beats["lanes"]] == [
        ("assemble:body", 2, None), ("solve:loop", 3, 0)
    ]  # fmt: skip
    assert beats["lanes"][0]["start"][:2] == [0, 1]
    status, _, err = report(capsys, run, "--heartbeats", tmp_path / "none", "-o", "-")
    assert status == 4
    assert "none" in err


def test_a_heartbeat_of_two_phases_has_the_colour_of_the_one_it_runs_in(run, tmp_path, capsys):
    asked = {"rank": None, "libs": None, "method": "robust", "k": None, "seed": 0}
    site = {"name": "write_out:body", "function": "write_out", "kind": "body", "heartbeat": 1, "phases": [0, 1]}
    (run / "placed-sites.json").write_text(json.dumps({"version": 1, "asked": asked, "sites": [site]}))
    file = EkgFile().beat(1, "write_out:body")
    for _ in range(23):
        file.interval(beats(0, 1, [10**6] * 5))
    (tmp_path / "ekg").mkdir()
    file.end().save(tmp_path / "ekg" / "rank-00000.ekg")
    page = report(capsys, run, "--heartbeats", tmp_path / "ekg", "-o", "-")[1]
    assert [(lane["name"], lane["phase"]) for lane in data_of(page)["beats"]["lanes"]] == [("write_out:body", 1)]
    assert "of another run, aligned at its start; its last 3 s are not shown" in page


def test_time_without_an_application_frame_has_one_name(tmp_path, capsys):
    writer = StreamWriter()
    for _ in range(12):
        writer.interval([Sample("main;solve", weight=60), Sample("", UNKNOWN, weight=40)])
    writer.end()
    page = report(capsys, writer.save(tmp_path / "run"), "-o", "-")[1]
    data = data_of(page)
    frames = {frame["name"]: frame for frame in data["tree"]["frames"]}
    assert "[unknown]" not in page
    # In the flame graph it has the colour that it has in the plot of self time.
    assert frames["[no application frame]"]["like"] in data["series"]["functions"]
    assert ">No application frame</th><td>40.0 %" in page


def test_a_damaged_recording_is_shown_and_marked(run, tmp_path, capsys):
    stream = run / "rank-00000.gmon"
    stream.write_bytes(stream.read_bytes()[:-300])
    status, page, err = report(capsys, run, "-o", "-")
    assert status == 5
    assert err
    assert "a part of the file was left out" in page
    assert '<ul class="warnings"' in page


def test_errors_are_one_line(run, tmp_path, capsys):
    for args in (
        [tmp_path / "none"],
        [run, "--rank", "9"],
        [run, "--allow-changed"],
        [run, "--source", tmp_path / "x"],
    ):
        status, out, err = report(capsys, *args, "-o", "-")
        assert status in (2, 4)
        assert out == ""
        assert err.count("\n") == 1
    assert os.listdir(tmp_path) == ["run"]


def test_all_intervals_and_paths_on_request(tmp_path, capsys):
    names = [f"f{i}" for i in range(250)]
    writer = StreamWriter(["main", "solve", *names])
    for i in range(1500):
        tiny = [Sample(f"main;solve;{names[i]}")] if i < 250 else []
        writer.interval([*[Sample("main;solve")] * 20, *tiny])
    writer.end()
    run = writer.save(tmp_path / "run")
    page = report(capsys, run, "-o", "-")[1]
    assert "<dd>1\u202f500 of 1 s</dd>" in page
    data = data_of(page)
    assert len(data["time"]["end"]) == 1000
    assert data["tree"]["joined"] == 250 - (200 - 3)
    data = data_of(report(capsys, run, "-o", "-", "--full")[1])
    assert len(data["time"]["end"]) == 1500
    assert data["tree"]["joined"] == 0


def test_a_page_stays_small_whatever_the_program():
    """More functions than can be shown, all with long names, all called and on the CPU all the time."""
    rng = np.random.default_rng(0)
    own = sparse_random((3000, 1500), density=0.1, rng=rng, data_sampler=lambda size: rng.integers(1, 9, size) / 100)
    calls = sparse_random((3000, 1500), density=0.1, rng=rng, data_sampler=lambda size: rng.integers(1, 10**9, size))
    profile = make_profile(own, calls, names=[f"{i}{'x' * 5000}" for i in range(1500)])
    labels = np.arange(3000) // 500
    timed = over_time(profile, SimpleNamespace(labels=labels), libs="caller", whole=False)
    parts = SimpleNamespace(timed=timed, functions=profile.functions, metadata=profile.metadata, inlined=frozenset())
    cells = [timed.cells.bin.tolist(), timed.cells.label.tolist(), _by_cell(timed.ticks, len(timed.cells.bin))]
    written = [_tree(parts, SHORT), _series(parts, SHORT), cells, timed.called.tolist()]
    assert len(embedded([*written, _by_cell(timed.calls, len(timed.cells.bin))])) < 4_500_000
    assert timed.ticks.value.sum() == np.rint(own.data * 100).sum()
    assert timed.cells.step > 1


def test_what_stands_in_a_script_cannot_end_it():
    nasty = {"</script>": ["<!--", "]]>", "&", "\u2028\u2029", "\ud800"]}
    text = embedded(nasty)
    assert not re.search("[<>&\u2028\u2029\ud800]", text)
    assert json.loads(text) == nasty


def test_vendored_library_matches_its_page():
    said = dict(re.findall(r"\| `(.*?)` \| ([0-9a-f]{64}) \|", asset("uplot/README.md")))
    assert len(said) == 3
    for name, digest in said.items():
        assert hashlib.sha256(asset(f"uplot/{name}").encode()).hexdigest() == digest
