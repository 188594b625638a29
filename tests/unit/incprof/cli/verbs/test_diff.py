import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from tests.unit.profiles import two_phase_run
from tests.unit.streamwriter import Sample, StreamWriter
from tests.unit.verbs import verb

NASTY = "<script>alert(1)</script>|`x`"


answer = verb("diff")


def record(directory, *, solve=20, write=12, names=("main", "solve", "write_out"), cpus=1.0, **more):
    """A run of 30 steps of 1 s or so of solve, then write_out with calls; `solve` and `write` are their intervals.

    cpus: the part of its threads' time that they were on a CPU.
    """
    of_threads = {3: round(1e9 / cpus)}
    writer = StreamWriter(list(names), **more)
    main_name, first, second = names
    for i in range(solve):
        samples = [Sample(f"{main_name};{first}")] * (81 + 9 * (i % 3)) + [Sample(main_name)]
        writer.interval(samples, counters=of_threads)
    for i in range(write):
        samples = [Sample(f"{main_name};{second}")] * (81 + 9 * (i % 2)) + [Sample(main_name)]
        writer.interval(samples, arcs={(main_name, second): 60 // write}, counters=of_threads)
    writer.end()
    return writer.save(directory)


@pytest.fixture
def runs(tmp_path):
    return record(tmp_path / "old"), record(tmp_path / "new", solve=40)


def test_the_table(runs, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    status, out, err = answer(capsys, *runs)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"A  {runs[0]}: app, rank 0, 32 intervals of 1 s, 32 s, 2849 samples"
    assert "takes more time: 32 s in A, 52 s in B, +62.5 %" in out
    solve = next(line for line in lines if line.startswith(" 0 "))
    assert solve.split()[1:8] == ["solve", "20", "s", "40", "s", "+100.0", "%"]
    assert "slower" in solve
    assert "same" in next(line for line in lines if line.startswith(" 1 "))
    assert max(map(len, lines[3:])) <= 100
    assert "\x1b" not in out


def test_json(runs, capsys):
    status, out, err = answer(capsys, *runs, "--json", "--noise", "2", "--fail-on", "phase>10%", "--fail-on", "run>1%")
    found = json.loads(out)
    assert status == 3
    assert (found["schema"], found["level"], found["time"], found["run_noise"]) == (
        "incprof.diff/1",
        0.95,
        "both",
        0.02,
    )
    assert [(p["name"], p["verdict"]) for p in found["phases"]] == [("solve", "slower"), ("write_out", "same")]
    solve = found["phases"][0]
    assert (solve["a"]["seconds"], solve["b"]["seconds"], solve["change_s"]) == pytest.approx((20, 40, 20), abs=0.01)
    assert solve["change_pct"] == pytest.approx(100, abs=0.01)
    assert 0 < solve["interval_pct"][0] < 100 < solve["interval_pct"][1]
    assert (solve["phases_a"], solve["phases_b"], solve["likeness"]) == ([[0]], [[0]], pytest.approx(1, abs=0.01))
    write = found["phases"][1]["steps"][0]
    assert (write["name"], write["a"]["calls"], write["b"]["calls"]) == ("write_out", 60, 60)
    assert write["a"]["mean_s"] == pytest.approx(12 * 85.5 / 100 / 60, rel=0.01)
    assert [f["name"] for f in found["functions"]] == ["solve", "main", "write_out"]
    assert found["b"][0]["labels"] == [0] * 40 + [1] * 12
    assert [(b["condition"], b["kind"], b["name"]) for b in found["broken"]] == [
        ("phase>10%", "phase", "solve"), ("run>1%", "run", "whole run"),
    ]  # fmt: skip
    assert [line.split(":")[0] for line in err.splitlines()] == ["incprof"] * 2
    assert "fails 'phase>10%': phase solve: 20 s in A, 40 s in B, +100.0 %" in err


def test_gates_that_hold(runs, capsys):
    a, b = runs
    assert answer(capsys, a, a, "--fail-on", "phase>0%", "--fail-on", "function>0%", "--fail-on", "run>0s")[0] == 0
    assert answer(capsys, b, a, "--fail-on", "phase>10%", "--fail-on", "run>5%")[0] == 0
    assert answer(capsys, a, b, "--fail-on", "write_out:phase>10%")[0] == 0
    assert answer(capsys, a, b, "--fail-on", "phase>20s")[0] == 0


def test_one_run_of_each_decides_no_gate_on_time(runs, tmp_path, capsys):
    a, b = runs
    status, out, err = answer(capsys, a, b, "--fail-on", "solve:phase>10%", "--fail-on", "run>5%")
    assert status == 4
    assert "verdicts allow for" in " ".join(out.split())
    assert [line.split(":")[1] for line in err.splitlines()] == [" inconclusive 'solve", " inconclusive 'run>5%'"]
    assert "'solve:phase>10%': solve +100.0 %, but one run of each does not show how much" in err
    assert answer(capsys, a, b, "--fail-on", "solve:phase>10%", "--noise", "5")[0] == 3
    assert answer(capsys, a, b, "--fail-on", "write_out:phase>10%")[::2] == (0, "")
    assert answer(capsys, b, a, "--fail-on", "calls<-5", "--fail-on", "share<-5")[0] == 3
    again = [record(tmp_path / f"b{i}", solve=40 + i % 2, cpus=0.6) for i in range(3)]
    assert answer(capsys, a, "--against", *again, "--fail-on", "solve:phase>10%")[0] == 3


def test_what_is_assumed_from_run_to_run(runs, capsys):
    cpu = sum(9 * (9 + i % 3) + 1 for i in range(20)) / 100 + sum(9 * (9 + i % 2) + 1 for i in range(12)) / 100
    found = json.loads(answer(capsys, *runs, "--json")[1])
    assert found["run_noise"] == pytest.approx(0.01 + 0.05 * (1 - cpu / 32), rel=1e-3)


def test_shorter_intervals_are_advised_where_few_leave_a_phase_inconclusive(tmp_path, capsys):
    def said(count):
        runs = [tmp_path / f"{name}{count}" for name in "ab"]
        for directory in runs:
            writer = StreamWriter(["main", "solve", "write_out", "more"])
            for at in range(4 * count):
                most = 60 + 20 * (at % 3)
                function = "solve" if at < 3 * count else "write_out"
                writer.interval([Sample(f"main;{function}")] * most + [Sample("main;more")] * (98 - most))
            writer.end()
            writer.save(directory)
        return " ".join(answer(capsys, *runs)[1].split())

    assert "A phase of 3 intervals is inconclusive: record with -i 0.1." in said(3)
    assert "record with" not in said(40)


def test_several_runs(tmp_path, capsys):
    a = [record(tmp_path / f"a{i}", solve=20 + i % 2) for i in range(3)]
    b = [record(tmp_path / f"b{i}", solve=30 + i % 2) for i in range(2)]
    status, out, _ = answer(capsys, *a, "--against", *b, "--json", "--fail-on", "solve:phase>30%")
    found = json.loads(out)
    assert (status, found["run_noise"], len(found["a"]), len(found["b"])) == (3, None, 3, 2)
    solve = found["phases"][0]
    assert solve["a"]["runs_s"] == pytest.approx([20, 21, 20], abs=0.01)
    assert solve["b"]["runs_s"] == pytest.approx([30, 31], abs=0.01)
    low, high = solve["interval_pct"]
    assert low < solve["change_pct"] < high
    status, out, _ = answer(capsys, *a, "--against", *b)
    assert "Intervals are from the scatter of 3 runs of A and 2 of B." in " ".join(out.split())


def test_markdown(runs, tmp_path, capsys):
    status, out, _ = answer(capsys, *runs, "--noise", "2", "--markdown", "--fail-on", "phase>10%")
    assert status == 3
    assert out.startswith("### Failed: B takes more time")
    assert "- **fails 'phase&#62;10%': phase solve: 20 s in A, 40 s in B" in out
    tables = [line.count("|") for line in out.splitlines() if line.startswith("|")]
    # Phases; reasons and functions, neither of which has all columns filled.
    assert set(tables) == {7, 9}
    nasty = record(tmp_path / "nasty", solve=40, names=("main", NASTY, "write_out"))
    out = answer(capsys, nasty, nasty, "--markdown")[1]
    assert "<script" not in out
    assert {line.count("|") for line in out.splitlines() if line.startswith("|")} == {9}


class Page(HTMLParser):
    VOID = ("meta", "rect")

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag != "rect":
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_page(runs, tmp_path, capsys):
    target = tmp_path / "page.html"
    status, out, _ = answer(capsys, *runs, "--noise", "2", "--html", target, "--fail-on", "phase>10%")
    assert status == 3
    assert "Phase" in out
    text = target.read_text()
    page = Page()
    page.feed(text)
    # What is gone is no gain.
    assert not re.search(r"\.gone[^{}]*\{[^{}]*--(faster|good)", text)
    page.close()
    assert page.open == []
    tags = [tag for tag, _ in page.tags]
    assert "script" not in tags
    assert tags.count("table") == 3
    policy = next(attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv"))
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert not any(key in ("style", "src", "href") or key.startswith("on") for _, attrs in page.tags for key in attrs)
    assert "fails 'phase>10%': phase solve" in page.text
    assert text.count('class="ribbon"') == 2
    before = text
    status, _, err = answer(capsys, *runs, "--html", target)
    assert (status, "--force" in err, target.read_text() == before) == (2, True, True)
    assert answer(capsys, *runs, "--noise", "2", "--html", target, "--force", "--fail-on", "phase>10%")[0] == 3
    assert target.read_text() == before
    assert answer(capsys, *runs, "--noise", "2", "--html", "-", "--fail-on", "phase>10%")[1] == before


def test_names_do_nothing(tmp_path, capsys):
    names = ("main", NASTY, "w\x1b[31m\u202e")
    a, b = record(tmp_path / "a", names=names), record(tmp_path / "b", solve=40, names=names)
    page = answer(capsys, a, b, "--html", "-")[1]
    assert "<script" not in page
    assert "alert(1)" in page
    for form in ([], ["--json"], ["--markdown"]):
        out = answer(capsys, a, b, *form)[1]
        assert "\x1b" not in out
        assert "\u202e" not in out


@pytest.mark.slow
def test_same_bytes_and_no_colours(runs, monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    command = [sys.executable, "-m", "incprof", "diff", *map(str, runs)]
    for form in ([], ["--json"], ["--markdown"], ["--html", "-"]):
        one, other = (subprocess.run([*command, *form], capture_output=True, check=True).stdout for _ in range(2))
        assert one == other
        assert b"\x1b" not in one


@pytest.mark.parametrize(
    "arguments",
    [
        ["A"], ["A", "B", "A"], ["A", "B", "--fail-on", "phase>ten"], ["A", "B", "--fail-on", "speed>10%"],
        ["A", "B", "--fail-on", "nothing:phase>1%"], ["A", "B", "--noise", "-1"], ["A", "B", "--noise", "nan"],
        ["A", "B", "A", "--against", "B", "--noise", "1"], ["A", "B", "--rank", "7"],
        ["A", "B", "--html", "-", "--json"],
        ["A", "B", "--html", "/nowhere/page.html"], ["A", "B", "--time", "moon"], ["A", "B", "--k", "99"], [],
    ],
)  # fmt: skip
def test_what_cannot_be_meant(arguments, runs, capsys):
    words = [{"A": runs[0], "B": runs[1]}.get(word, word) for word in arguments]
    status, out, err = answer(capsys, *words)
    assert (status, out, err.count("\n")) == (2, "", 1)


def test_what_cannot_be_read(runs, tmp_path, capsys):
    empty, rubbish = tmp_path / "empty", tmp_path / "rubbish"
    empty.mkdir()
    rubbish.mkdir()
    (rubbish / "rank-00000.gmon").write_bytes(b"gmon" + bytes(200))
    for other in (empty, rubbish, tmp_path / "none", runs[0] / "rank-00000.gmon"):
        for pair in ((runs[0], other), (other, runs[0])):
            status, out, err = answer(capsys, *pair)
            assert (status, out, err.count("\n")) == (4, "", 1)
            assert str(other) in err


def test_damage_is_reported_and_gates_come_first(runs, capsys):
    stream = runs[1] / "rank-00000.gmon"
    stream.write_bytes(stream.read_bytes()[:-150])
    status, out, err = answer(capsys, *runs)
    assert status == 5
    assert err.startswith(f"incprof: B: {runs[1]}: ")
    assert "slower" in out
    assert "was dropped" in answer(capsys, *runs, "--markdown")[1]
    assert answer(capsys, *runs, "--noise", "2", "--fail-on", "phase>10%")[0] == 3


def test_another_program(runs, tmp_path, capsys):
    other = record(tmp_path / "other", names=("start", "paint", "wait_for_user"), app="editor")
    status, out, _ = answer(capsys, runs[0], other)
    assert status == 0
    assert "program: app in A, editor in B" in out
    assert "the same program?" in out
    found = json.loads(answer(capsys, runs[0], other, "--json")[1])
    assert sorted(p["verdict"] for p in found["phases"]) == ["gone", "gone", "new", "new"]
    assert all(p["interval_pct"] is None for p in found["phases"])
    blind = "no phase in common"
    assert blind in answer(capsys, runs[0], other, "--fail-on", "phase>10%")[2]
    assert blind in json.loads(answer(capsys, runs[0], other, "--fail-on", "step>10%", "--json")[1])["warnings"][0]
    assert blind not in answer(capsys, runs[0], other, "--fail-on", "phase>10s")[2]
    assert blind not in answer(capsys, *runs, "--fail-on", "phase>10%")[2]


def test_a_run_without_symbols(runs, capsys):
    shutil.rmtree(runs[1] / "symbols")
    status, _, err = answer(capsys, *runs)
    assert status == 4
    assert err.count("\n") == 1


def test_ranks(tmp_path, capsys):
    a = two_phase_run(tmp_path / "a", ranks=(1, 3))
    status, out, _ = answer(capsys, a, a, "--json")
    assert (status, json.loads(out)["a"][0]["run"]["rank"]) == (0, 1)
    status, out, _ = answer(capsys, a, a, "--json", "--rank", "3")
    assert (status, json.loads(out)["b"][0]["run"]["rank"]) == (0, 3)


@pytest.mark.parametrize("columns", [80, 100, 150])
def test_no_number_is_cut_short(tmp_path, capsys, monkeypatch, columns):
    """Times over a minute are longer than those of phases, and stand in the row of the whole run alone."""
    monkeypatch.setenv("COLUMNS", str(columns))
    long = {"names": ("main", "関数" * 40, "another_function_with_a_long_name")}
    runs = [record(tmp_path / side, solve=solve, write=50, **long) for side, solve in (("a", 55), ("b", 58))]
    table = answer(capsys, *runs)[1].split("\n\n")[2]
    assert "…" not in table
    assert re.search(r"whole run +1 min 45 s +1 min 48 s +\+2.9 %", table)
    assert re.search(r"^ 1   an.* 50 s  +50 s", table, re.MULTILINE)


def test_functions_that_are_called_on_both_sides_are_in_both(tmp_path, capsys):
    a, b = (record(tmp_path / side, write=write) for side, write in (("a", 12), ("b", 0)))
    writer = StreamWriter(["main", "solve", "write_out"])
    for i in range(20):
        arcs = {("main", "write_out"): 60} if i == 10 else {}
        writer.interval([Sample("main;solve", weight=9)] * 10, arcs=arcs)
    writer.end()
    called = writer.save(tmp_path / "c")
    for other, verdict in ((b, "gone"), (called, "faster")):
        functions = json.loads(answer(capsys, a, other, "--json")[1])["functions"]
        assert next(f["verdict"] for f in functions if f["name"] == "write_out") == verdict


def test_unchanged_functions_are_listed_from_one_percent_on(runs, capsys):
    out = answer(capsys, runs[0], runs[0])[1]
    assert re.search(r"^main +320 ms  320 ms +\+0\.0 %", out, re.MULTILINE)
    assert "more function" not in out


def test_what_differs_in_the_runs_as_such(tmp_path, capsys):
    a = record(tmp_path / "a", argv=["app", "small.in"], pid=1)
    b = record(tmp_path / "b", argv=["app", "x" * 500], pid=2)
    out = answer(capsys, a, b)[1]
    assert "   arguments: small.in in A, " in out
    assert "x" * 100 not in out
    assert "more than once" not in out
    assert "more than once" in answer(capsys, a, "--against", b, b)[1]


def test_phases_that_change_alike_are_reported(tmp_path, capsys):
    a = record(tmp_path / "a", solve=20, write=20)
    said = "all phases of both changed alike, by +100 %"
    assert said in answer(capsys, a, record(tmp_path / "b", solve=40, write=40))[1]
    assert said not in answer(capsys, a, record(tmp_path / "c", solve=40, write=20))[1]
    assert said not in answer(capsys, a, record(tmp_path / "d", solve=20, write=20))[1]


def test_narrow_and_wide(runs, capsys, monkeypatch):
    for columns in (80, 100, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        out = answer(capsys, *runs, "--all")[1]
        table = out.split("\n\n")[2:-1]
        assert max(len(line) for part in table for line in part.splitlines()) <= columns
        assert re.search(r"solve +20 s +40 s", out)


@pytest.fixture
def unbalanced(tmp_path):
    """Runs of four ranks: rank 3 works longest in `react` of the first, all ranks alike in the second."""
    shares = {"old": (20, 20, 20, 90), "new": (40, 41, 39, 40)}
    for name, react in shares.items():
        for rank, ticks in enumerate(react):
            writer = StreamWriter(["main", "sweep", "react"], rank=rank, launch=name)
            for at in range(40):
                working = Sample("main;react", weight=ticks) if at >= 20 else Sample("main;sweep", weight=50 + at % 3)
                writer.interval([working])
            writer.end()
            writer.save(tmp_path / name)
    return [str(tmp_path / name) for name in shares]


def test_the_balance_of_ranks_is_compared(unbalanced, capsys):
    """The rank shown works twice as long, because the others' work is now its own."""
    _, out, _ = answer(capsys, *unbalanced)
    (row,) = [line.split() for line in out.partition("Ranks  ")[2].splitlines() if "react" in line][:1]
    assert row == ["1", "react", "18", "s", "3", "8.2", "s", "1", "140", "%", "2", "%", "?"], out
    _, out, _ = answer(capsys, *unbalanced, "--json")
    sweep, react = json.loads(out)["phases"]
    assert [one["significant"] for one in (*react["ranks_a"], *react["ranks_b"])] == [True, False]
    assert not any(one["significant"] for one in (*sweep["ranks_a"], *sweep["ranks_b"]))
    assert "| Most work A |" in answer(capsys, *unbalanced, "--markdown")[1]
    assert "Balance of ranks" in answer(capsys, *unbalanced, "--html", "-")[1]
    assert "Most work" not in answer(capsys, unbalanced[1], unbalanced[1])[1]
    one = answer(capsys, *unbalanced, "--rank", "0", "--ranks", "0", "--json")[1]
    assert json.loads(one)["phases"][0]["ranks_a"] == []
