"""Where sites are in the source of recorded programs. Their text is the oracle."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from dataclasses import replace

import pytest

from incprof.analysis.answer import find_phases
from incprof.analysis.features import build_features
from incprof.analysis.sites import SiteChooser
from incprof.analysis.sites.rates import BeatCost
from incprof.cli.main import main
from incprof.readers.run import open_run, read_profile
from incprof.study.sites import SitePlanner
from incprof.study.sites.place import Placer, Sources
from tests.integration.collector import run, variables
from tests.paths import INTEGRATION
from tests.recordings.kept import kept
from tests.recordings.make import RECIPES
from tests.recordings.pack import PLACE

FIXTURES = INTEGRATION / "sites_fixtures"


class Program:
    """A program with its recording and its source tree: compiled and recorded here, or kept."""

    def __init__(self, root, tree, main_file):
        self.tree, self.run, self.main_file = tree, root / "run", main_file
        # What a beat costs on a busy machine would decide which loops are too short for one.
        (self.run / "beat-cost.json").write_text('{"version": 1, "pair_ns": 30.0, "skipped_ns": 1.5}')

    @classmethod
    def kept(cls, name, root):
        """One whose samples are the same on every machine, however busy."""
        return cls(root, kept(name, root).tree, RECIPES[name].source)

    @classmethod
    def recorded(cls, root, *, flags="-O2 -g -pg"):
        """Stages that take a few intervals: for what does not hang on samples."""
        tree = root / "tree"
        shutil.copytree(FIXTURES, tree)
        words = ["gcc", *flags.split(), str(tree / "stages.c"), "-o", str(root / "program")]
        done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        outcome = run([root / "program", "100"], root, variables(root / "run", interval=0.02))
        assert outcome.status == 0, outcome
        return cls(root, tree, "stages.c")

    def copy(self, root):
        """The same recording in a directory of its own; the tree stays where it was compiled."""
        shutil.copytree(self.run, root / "run", ignore=shutil.ignore_patterns("sources.json"))
        return Program(root, self.tree, self.main_file)

    def line(self, text, *, file=None, after=""):
        """The number of the first line that holds some text, below the first one that holds `after`."""
        lines = (self.tree / (file or self.main_file)).read_text().splitlines()
        start = next(i for i, line in enumerate(lines) if after in line)
        return 1 + next(i for i in range(start, len(lines)) if text in lines[i])

    def ask(self, capsys, *args, source=None, status=0):
        """Return the answer of `incprof sites --json`."""
        words = ["sites", str(self.run), "--json", "--source", str(source or self.tree), *args]
        assert main(words) == status, capsys.readouterr()
        return json.loads(capsys.readouterr().out)

    def site(self, capsys, name, **options):
        """The one site that was named by hand."""
        answer = self.ask(capsys, "--site", name, *options.pop("args", ()), **options)
        (found,) = answer["sites"] or answer["refused"]
        return found


@pytest.fixture(scope="module")
def stages(tmp_path_factory):
    return Program.kept("stages", tmp_path_factory.mktemp("stages"))


@pytest.fixture(scope="module")
def templates(tmp_path_factory):
    return Program.kept("templates", tmp_path_factory.mktemp("templates"))


@pytest.fixture(scope="module")
def phases(tmp_path_factory):
    return Program.kept("phases", tmp_path_factory.mktemp("phases"))


def test_each_phase_of_a_c_program(phases, capsys):
    named = [word for name in ("fill_keys", "build_table", "lookup_batch") for word in ("--site", f"{name}:body")]
    answer = phases.ask(capsys, *named, "--site", "validate:loop")
    assert answer["refused"] == []
    found = {site["function"]: site for site in answer["sites"]}
    for name in ("fill_keys", "build_table", "lookup_batch"):
        site = found[name]
        assert (site["name"], site["kind"], site["file"]) == (f"{name}:body", "body", "phases.c")
        assert site["line"] == phases.line(f" {name}(")
        assert (site["basis"], site["rate_factor"]) == ("counted", 1)
        assert 0 < site["overhead_pct"] < 0.1
    loop = found["validate"]
    assert (loop["name"], loop["share"]) == ("validate:loop", pytest.approx(1, abs=0.1))
    assert loop["line"] == phases.line("for (int i", after="uint64_t validate(")
    marked = [line["text"].strip() for line in loop["excerpt"] if line["marked"]]
    assert marked == ["for (int i = 0; i < rounds; i++)"]
    assert loop["excerpt"][0]["line"] == phases.line(" validate(")


def test_what_the_phases_have_is_found_without_being_named(phases, capsys):
    answer = phases.ask(capsys)
    assert [(site["heartbeat"], site["name"], site["phases"]) for site in answer["sites"]] == [
        (1, "fill_keys:body", [0]),
        (2, "build_table:body", [1]),
        (3, "lookup_batch:body", [2]),
        (4, "validate:loop", [3]),
    ]
    assert (answer["refused"], answer["unserved"]) == ([], [])
    for site in answer["sites"]:
        first = phases.line(f" {site['function']}(")
        assert site["line"] == first if site["kind"] == "body" else site["line"] > first
    assert phases.ask(capsys) == answer


def test_a_fortran_program(tmp_path, capsys):
    heat = Program.kept("heat", tmp_path)
    body = heat.site(capsys, "histogram:body")
    assert (body["kind"], body["line"]) == ("body", heat.line("subroutine histogram"))
    loop = heat.site(capsys, "MAIN__:loop")
    assert (loop["kind"], loop["file"]) == ("loop", "heat.f90")
    assert loop["line"] == heat.line("do k = 1, int(11000 * scale)")
    # It calls jacobi_step once each time.
    assert loop["basis"] == "estimated"


def test_a_template_under_two_types_is_one_place(templates, capsys):
    answer = templates.ask(capsys)
    (site,) = [site for site in answer["sites"] if "relax" in site["name"]]
    assert (site["file"], site["line"]) == (
        "include/kernel.hpp",
        templates.line("void relax", file="include/kernel.hpp"),
    )
    assert site["name"].endswith("relax:body")
    # Both instances count, whichever was named.
    alone = templates.site(capsys, "relax:body")
    assert (alone["basis"], alone["line"]) == ("counted", site["line"])


def test_a_loop_of_a_function_that_became_a_part_of_main(stages, capsys):
    site = stages.site(capsys, "main:loop")
    assert site["name"] == "inlined_stage:loop"
    assert site["line"] == stages.line("for (int i", after="static void inlined_stage")


def test_a_clone_is_the_function_as_written(stages, capsys):
    site = stages.site(capsys, "cloned_stage")
    assert (site["name"], site["kind"]) == ("cloned_stage:body", "body")
    assert site["line"] == stages.line("cloned_stage(unsigned size")


def test_iterations_are_estimated_from_the_calls_of_the_loop(stages, capsys):
    loop = stages.site(capsys, "counted_loop:loop")
    assert (loop["basis"], loop["line"]) == ("estimated", stages.line("2500 * rounds"))
    # One call of step each: as often as step is called.
    step = stages.site(capsys, "step:body")
    assert loop["phases"] == step["phases"]
    # Calls of an interval with a border in it are divided by samples.
    assert loop["beats_hz"] == pytest.approx(step["beats_hz"], rel=0.3)


def test_the_rate_factor_keeps_overhead_below_one_percent(stages, tmp_path, capsys):
    """On a machine where a beat costs 30 ns, and 0.1 where it is left out."""
    known = stages.copy(tmp_path)
    (known.run / "beat-cost.json").write_text('{"version": 1, "pair_ns": 30.0, "skipped_ns": 0.1}')
    step = known.site(capsys, "step:body")
    assert step["rate_factor"] in {2, 5, 10, 20, 50, 100}
    assert step["overhead_pct"] < 1


def test_what_no_rate_factor_makes_cheap_is_refused_and_its_caller_taken(tmp_path, capsys):
    swarm = Program.kept("swarm", tmp_path)
    # On any machine: what a beat costs, and how often it would come, is known.
    (swarm.run / "beat-cost.json").write_text('{"version": 1, "pair_ns": 100.0, "skipped_ns": 50.0}')
    (site,) = swarm.ask(capsys)["sites"]
    assert site["name"] == "swarm:body"
    assert "too often for any rate factor" in site["note"]
    refused = swarm.ask(capsys, "--method", "paper", "--k", "1")["refused"]
    assert [(each["function"], "whatever the rate factor" in each["reason"]) for each in refused] == [("tiny", True)]
    # Named by hand it is taken, and the cost is reported.
    byhand = swarm.site(capsys, "tiny")
    assert byhand["overhead_pct"] > 1
    assert "whatever the rate factor" in byhand["note"]


def test_a_loop_that_does_too_little_is_a_body(tmp_path, capsys):
    site = Program.kept("tight", tmp_path).site(capsys, "tight_loop:loop")
    assert site["name"] == "tight_loop:body"
    assert "too short for a beat" in site["note"]


def test_the_tree_moved_after_the_build(stages, tmp_path, capsys):
    moved = stages.copy(tmp_path)
    new = tmp_path / "checkout" / "deep"
    shutil.copytree(stages.tree, new)
    os.rename(stages.tree, tmp_path / "gone")
    try:
        for path in new.rglob("*"):
            os.utime(path)
        site = moved.site(capsys, "cloned_stage", source=new)
        assert (site["file"], site["name"]) == ("stages.c", "cloned_stage:body")
        # The directory above will do as well, and the name is that below it.
        assert moved.site(capsys, "main:loop", source=new.parent)["file"] == "deep/stages.c"
        text = (new / "stages.c").read_text()
        (new / "stages.c").write_text("/* new */\n" + text)
        refused = moved.site(capsys, "cloned_stage", source=new)
        assert "changed since the recording" in refused["reason"]
        allowed = moved.site(capsys, "main:loop", source=new, args=["--allow-changed"])
        assert allowed["line"] == 1 + text[: text.index("for (int i")].count("\n") + 1
        # Two copies: either may be meant.
        shutil.copytree(new, new.parent / "other")
        assert "several files could be" in moved.site(capsys, "cloned_stage", source=new.parent)["reason"]
    finally:
        os.rename(tmp_path / "gone", stages.tree)


def test_a_source_that_is_not_the_one_that_was_compiled_is_not_remembered(tmp_path, capsys):
    program = Program.recorded(tmp_path)
    assert main(["phases", str(program.run)]) == 0
    before = capsys.readouterr().out
    os.utime(program.tree / program.main_file)
    answer = program.ask(capsys)
    assert answer["sites"] == []
    assert any("changed since the recording" in each["reason"] for each in answer["refused"])
    empty = tmp_path / "empty"
    empty.mkdir()
    assert program.ask(capsys, source=empty)["sites"] == []
    assert main(["phases", str(program.run)]) == 0
    assert capsys.readouterr().out == before


def test_a_file_changed_since_the_recording(tmp_path, capsys):
    program = Program.recorded(tmp_path)
    file = program.tree / "stages.c"
    original = file.read_bytes()
    os.utime(file)
    assert "changed since the recording" in program.site(capsys, "main:body")["reason"]
    assert program.site(capsys, "main:body", args=["--allow-changed"])["name"] == "main:body"
    # Found unchanged once, it is known by its text.
    os.utime(file, ns=(0, 0))
    assert program.site(capsys, "main:body")["name"] == "main:body"
    os.utime(file, ns=(2 * time.time_ns(), 2 * time.time_ns()))
    assert program.site(capsys, "main:body")["name"] == "main:body"
    file.write_bytes(original + b"/* more */\n")
    os.utime(file, ns=(0, 0))
    assert "changed since the recording" in program.site(capsys, "main:body")["reason"]


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"version": 1}', '{"version": 1, "sha256": 3}'])
def test_damaged_memory_is_forgotten(stages, tmp_path, capsys, damage):
    copy = stages.copy(tmp_path)
    (copy.run / "sources.json").write_text(damage)
    assert copy.site(capsys, "cloned_stage")["name"] == "cloned_stage:body"
    assert json.loads((copy.run / "sources.json").read_text())["version"] == 1


def test_a_link_out_of_the_tree(stages, tmp_path, capsys):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/stages.c").symlink_to(stages.tree / "stages.c")
    site = stages.copy(tmp_path).site(capsys, "cloned_stage", source=tmp_path / "tree")
    assert "leads out of" in site["reason"]


def test_without_line_numbers_there_is_the_body(tmp_path, capsys):
    program = Program.recorded(tmp_path, flags="-O2 -pg")
    site = program.site(capsys, "counted_loop:loop")
    assert (site["name"], site["line"]) == ("counted_loop:body", program.line("counted_loop(int"))
    assert "no line numbers" in site["note"]


def test_without_the_source_lines_come_from_the_program(phases, capsys):
    assert main(["sites", str(phases.run), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["source"] is None
    found = {site["function"]: site for site in answer["sites"]}
    assert found["fill_keys"]["file"] == f"{PLACE}/phases.c"
    assert found["fill_keys"]["line"] in range(phases.line(" fill_keys("), phases.line(" fill_keys(") + 2)
    assert found["fill_keys"]["beats_hz"] > 0
    assert found["validate"]["beats_hz"] is None


def test_source_that_is_not_there(phases, tmp_path, capsys):
    answer = phases.ask(capsys, source=tmp_path)
    assert answer["sites"] == []
    assert set(answer["unserved"]) == {phase for row in answer["refused"] for phase in row["phases"]} != set()
    assert any(f"is not below {tmp_path}" in row["reason"] for row in answer["refused"])
    assert main(["sites", str(phases.run), "--source", str(tmp_path / "missing")]) == 4
    assert "no such directory" in capsys.readouterr().err


def test_a_parallel_region_that_lasts_is_the_loop_in_it(tmp_path, capsys):
    omp = Program.kept("omp", tmp_path)
    site = omp.site(capsys, "compute_forces:loop")
    assert (site["name"], site["file"]) == ("compute_forces:loop", "omp.c")
    assert site["line"] == omp.line("for (", after="void compute_forces")


def test_a_function_that_lasts_through_other_phases_is_no_site_by_its_body(tmp_path, capsys):
    """The sort is called by main itself, in no loop: a beat as long as the run would say nothing of it."""
    answer = Program.kept("sorted", tmp_path).ask(capsys)
    reasons = [each["reason"] for each in answer["refused"] if each["function"] == "main"]
    names = [site["name"] for site in answer["sites"]]
    assert "step:body" in names
    assert "main:body" not in names
    assert any("also runs in other phases" in reason for reason in reasons), answer


def test_a_region_that_is_called_again_and_again_is_the_loop_around_it(tmp_path, capsys):
    program = Program.kept("steps", tmp_path)
    # Which function is chosen depends on how long threads wait for one another; where it is placed does not.
    recorded = open_run(str(program.run))
    profile = read_profile(recorded, inlined=True)
    sources = Sources(program.tree, recorded.directory, None, allow_changed=True)
    placer = Placer(recorded, recorded.processes[0], profile, find_phases(profile, k=1), sources)
    region = next(i for i, f in enumerate(profile.functions) if f.name.startswith("main._omp_fn"))
    spot = placer.place(region, "body", (0,))
    loop = spot.function.file.functions[spot.function.position].loops[spot.loop]
    assert (loop.line, spot.runs.basis) == (program.line("for (int step"), "at most")
    assert spot.runs.count.sum() >= 3000
    assert placer.place(region, "body", (0,), around=True).loop is None


@pytest.mark.parametrize("kind", ["body", "loop"])
def test_an_uncounted_loop_gives_way_to_the_code_around_its_region(tmp_path, capsys, kind):
    """The loop in the region goes once a row, and the one around it takes no beat: there is the function."""
    program = Program.kept("rows", tmp_path)
    recorded = open_run(str(program.run))
    profile = read_profile(recorded, inlined=True)
    result = find_phases(profile, k=1)
    region = next(i for i, f in enumerate(profile.functions) if f.name.startswith("main._omp_fn"))
    (phase,) = result.phases
    result = replace(result, phases=(replace(phase, sites=(replace(phase.sites[0], index=region, kind=kind),)),))
    sources = Sources(program.tree, recorded.directory, None, allow_changed=True)
    placer = Placer(recorded, recorded.processes[0], profile, result, sources)
    chooser = SiteChooser(profile, build_features(profile, share=True), literal=False)
    (site,) = SitePlanner(placer, chooser, result, BeatCost(30.0, 1.5)).sites_of_phases()
    assert (site.name, site.rate.basis, site.refusal) == ("main:body", "at most", None)


def test_a_region_whose_loop_beats_too_often_gives_way_to_the_function_around_it(tmp_path, capsys):
    program = Program.kept("region", tmp_path)
    found = [site for site in program.ask(capsys)["sites"] if site["function"] == "region"]
    assert [(site["name"], site["rate_factor"]) for site in found] == [("region:body", 1)]


def test_names_by_hand(stages, templates, capsys):
    def error(program, *args):
        assert main(["sites", str(program.run), "--source", str(program.tree), *args]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        return err.splitlines()[-1]

    assert "did you mean cloned_stage" in error(stages, "--site", "clond_stage")
    assert "needs --source" in error_without_source(stages, capsys)
    assert templates.site(capsys, "Field::relax") == templates.site(capsys, "numeric::Field::relax")
    both = stages.ask(capsys, "--site", "step", "--site", "step:body", "--site", "swarm:body")
    assert [site["heartbeat"] for site in both["sites"]] == [1, 2]
    # Not in the recording, but in the source.
    unseen = stages.site(capsys, "inlined_stage")
    assert (unseen["name"], unseen["beats_hz"]) == ("inlined_stage:body", None)


def error_without_source(program, capsys):
    assert main(["sites", str(program.run), "--site", "step"]) == 2
    return capsys.readouterr().err


def test_text_is_harmless_and_the_same_every_time(phases, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    copy = phases.copy(tmp_path)
    tree = tmp_path / "tree"
    shutil.copytree(phases.tree, tree)
    text = (tree / "phases.c").read_text()
    line = "    for (int i = 0; i < rounds; i++)"
    (tree / "phases.c").write_text(text.replace(line, "\tfor (int i = 0; i < rounds; i++) /* \x1b[31m \x07 */"))
    words = ["sites", str(copy.run), "--source", str(tree), "--allow-changed"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[31m" in out
    assert "> " in out
    assert "validate  phases.c:" in out
    assert main(words) == 0
    assert capsys.readouterr().out == out


def test_phases_has_the_sites_where_they_are_in_the_source(phases, tmp_path, capsys):
    run_directory = tmp_path / "run"
    shutil.copytree(phases.run, run_directory)

    def places(verb: str, *more: str) -> list[tuple[int, str, str, int]]:
        assert main([verb, str(run_directory), "--json", *more]) == 0
        answer = json.loads(capsys.readouterr().out)
        sites = [site for phase in answer.get("phases", ()) for site in phase["sites"]] or answer["sites"]
        return sorted({(site["heartbeat"], site["function"], site["kind"], site["line"]) for site in sites})

    found = places("sites", "--source", str(phases.tree))
    assert places("phases") == found
    assert places("sites") == found
