"""Where sites are in the source: programs are compiled, recorded, and asked about. Their text is the oracle."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from incprof.analysis.answer.find import find_phases
from incprof.analysis.phases.features import build_features
from incprof.analysis.sites.choice import SiteChooser
from incprof.analysis.sites.rates import BeatCost
from incprof.cli import main
from incprof.readers import open_run, read_profile
from incprof.study.sites.affordable import SitePlanner
from incprof.study.sites.files import Sources
from incprof.study.sites.place import Placer
from tests.integration.collector import COMPILER_OF, run, variables

FIXTURES = Path(__file__).parent / "sites_fixtures"
EXAMPLES = Path(__file__).parents[2] / "examples"
# For stages that last a few tenths of a second.
OFTEN = {"INCPROF_RATE": "250"}


class Program:
    """A program recorded in a source tree of its own."""

    def __init__(self, root, sources, main_file, *, flags="-O2 -g -pg", arguments=(), interval=0.1, env=None):
        self.tree, self.run, self.main_file = root / "tree", root / "run", main_file
        shutil.copytree(sources, self.tree, ignore=shutil.ignore_patterns("build"))
        compiler = COMPILER_OF[Path(main_file).suffix]
        if shutil.which(compiler) is None:
            pytest.skip(f"{compiler} is not installed")
        words = [compiler, *flags.split(), str(self.tree / main_file), "-o", str(root / "program"), "-lm"]
        done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        environment = {**variables(self.run, interval=interval), **(env or {})}
        self.outcome = run([root / "program", *arguments], root, environment)
        assert self.outcome.status == 0, self.outcome
        # What a beat costs on a busy machine would decide which loops are too short for one.
        (self.run / "beat-cost.json").write_text('{"version": 1, "pair_ns": 30.0, "skipped_ns": 1.5}')

    def copy(self, root):
        """The same recording in a directory of its own; the tree stays where it was compiled."""
        other = object.__new__(Program)
        other.tree, other.main_file, other.run = self.tree, self.main_file, root / "run"
        shutil.copytree(self.run, other.run, ignore=shutil.ignore_patterns("sources.json"))
        return other

    def line(self, text, *, file=None, after=""):
        """The number of the first line that holds some text, below the first one that holds `after`."""
        lines = (self.tree / (file or self.main_file)).read_text().splitlines()
        start = next(i for i, line in enumerate(lines) if after in line)
        return 1 + next(i for i in range(start, len(lines)) if text in lines[i])

    def ask(self, capsys, *args, source=None, status=0):
        """What `incprof sites --json` says."""
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
    return Program(tmp_path_factory.mktemp("stages"), FIXTURES, "stages.c", arguments=["1500"], env=OFTEN)


@pytest.fixture(scope="module")
def templates(tmp_path_factory):
    return Program(tmp_path_factory.mktemp("templates"), FIXTURES, "templates.cpp", arguments=["300"])


@pytest.fixture(scope="module")
def phases(tmp_path_factory):
    return Program(tmp_path_factory.mktemp("phases"), EXAMPLES, "phases.c", arguments=["0.3"])


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
    assert answer["sites"]
    assert answer["refused"] == []
    assert len({site["heartbeat"] for site in answer["sites"]}) == len(answer["sites"])
    for site in answer["sites"]:
        first = phases.line(f" {site['function']}(")
        assert site["line"] == first if site["kind"] == "body" else site["line"] > first
    assert phases.ask(capsys) == answer


def test_a_fortran_program(tmp_path, capsys):
    heat = Program(tmp_path, EXAMPLES, "heat.f90", arguments=["0.2"], flags="-O2 -g -pg")
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
    assert set(loop["phases"]) <= set(step["phases"])
    # A busy machine may give some of the calls to the phase before.
    if loop["phases"] == step["phases"]:
        assert loop["beats_hz"] == pytest.approx(step["beats_hz"])


def test_the_rate_factor_keeps_overhead_below_one_percent(stages, tmp_path, capsys):
    """On a machine where a beat costs 30 ns, and 0.1 where it is left out."""
    known = stages.copy(tmp_path)
    (known.run / "beat-cost.json").write_text('{"version": 1, "pair_ns": 30.0, "skipped_ns": 0.1}')
    step = known.site(capsys, "step:body")
    assert step["rate_factor"] in {2, 5, 10, 20, 50, 100}
    assert step["overhead_pct"] < 1


def test_what_no_rate_factor_makes_cheap_is_refused_and_its_caller_taken(tmp_path, capsys):
    swarm = Program(tmp_path, FIXTURES, "stages.c", arguments=["8000", "w"], interval=0.05)
    # On any machine: what a beat costs, and how often it would come, is known.
    (swarm.run / "beat-cost.json").write_text('{"version": 1, "pair_ns": 100.0, "skipped_ns": 50.0}')
    (site,) = swarm.ask(capsys)["sites"]
    assert site["name"] == "swarm:body"
    assert "too often for any rate factor" in site["note"]
    refused = swarm.ask(capsys, "--method", "paper", "--k", "1")["refused"]
    assert [(each["function"], "whatever the rate factor" in each["reason"]) for each in refused] == [("tiny", True)]
    # Named by hand it is taken, and the cost said.
    byhand = swarm.site(capsys, "tiny")
    assert byhand["overhead_pct"] > 1
    assert "whatever the rate factor" in byhand["note"]


def test_a_loop_that_does_too_little_is_a_body(tmp_path, capsys):
    long = Program(tmp_path, FIXTURES, "stages.c", arguments=["2000", "t"], interval=0.05)
    site = long.site(capsys, "tight_loop:loop")
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
        # Two copies: nobody knows which.
        shutil.copytree(new, new.parent / "other")
        assert "several files could be" in moved.site(capsys, "cloned_stage", source=new.parent)["reason"]
    finally:
        os.rename(tmp_path / "gone", stages.tree)


def test_a_file_changed_since_the_recording(tmp_path, capsys):
    program = Program(tmp_path, FIXTURES, "stages.c", arguments=["100"], interval=0.02)
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
    program = Program(tmp_path, FIXTURES, "stages.c", arguments=["100"], interval=0.02, flags="-O2 -pg")
    site = program.site(capsys, "counted_loop:loop")
    assert (site["name"], site["line"]) == ("counted_loop:body", program.line("counted_loop(int"))
    assert "no line numbers" in site["note"]


def test_without_the_source_lines_come_from_the_program(phases, capsys):
    assert main(["sites", str(phases.run), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["source"] is None
    found = {site["function"]: site for site in answer["sites"]}
    assert found["fill_keys"]["file"] == str(phases.tree / "phases.c")
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
    omp = Program(
        tmp_path, EXAMPLES, "omp.c", arguments=["0.6"], flags="-O2 -g -pg -fopenmp", env={"OMP_NUM_THREADS": "2"}
    )
    site = omp.site(capsys, "compute_forces:loop")
    assert (site["name"], site["file"]) == ("compute_forces:loop", "omp.c")
    assert site["line"] == omp.line("for (", after="void compute_forces")


REGION = """
#include <stdio.h>
static __attribute__((noinline)) int step(int x) { __asm__ volatile("" : "+r"(x)); return x * 7 + 1; }
static __attribute__((noinline)) int region(void)
{
    int sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        for (int j = 0; j < 1000; j++)
            sum += step(j);
    return sum;
}
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 300; i++)
        sum += region();
    printf("%d\\n", sum);
    return 0;
}
"""


SORTED_ONCE = """
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char word[2500000][16];
static __attribute__((noinline)) double step(int n)
{
    double sum = 0;
    for (int i = 1; i < 200000; i++)
        sum += sqrt(i + n);
    return sum;
}
int main(void)
{
    double sum = 0;
    for (int i = 0; i < 2500; i++)
        sum += step(i);
    for (int i = 0; i < 2500000; i++)
        snprintf(word[i], 16, "%08x", (unsigned)i * 2654435761u);
    qsort(word, 2500000, 16, (int (*)(const void *, const void *))strcmp);
    qsort(word, 2500000, 16, (int (*)(const void *, const void *))strcasecmp);
    printf("%g %s\\n", sum, word[77]);
    return 0;
}
"""


def test_a_function_that_lasts_through_other_phases_is_no_site_by_its_body(tmp_path, capsys):
    """The sort is called by main itself, in no loop: a beat as long as the run would say nothing of it."""
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "sorted.c").write_text(SORTED_ONCE)
    # Where a busy machine leaves it too few samples for its two phases, it is recorded again.
    for attempt in range(4):
        answer = Program(tmp_path / str(attempt), tmp_path / "text", "sorted.c", env=OFTEN).ask(capsys)
        reasons = [each["reason"] for each in answer["refused"] if each["function"] == "main"]
        if answer["k"] == 2 and reasons:
            break
    assert "main:body" not in [site["name"] for site in answer["sites"]]
    assert any("last on through other phases" in reason for reason in reasons), answer


TIME_LOOP = """
#include <math.h>
#include <stdio.h>
__attribute__((noinline)) double one(double x) { return sin(x) + cos(x); }
int main(void)
{
    double total = 0;
    for (int step = 0; step < 300; step++) {
        double sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 20000; i++)
            sum += one(i + step);
        total += sum;
    }
    printf("%f\\n", total);
}
"""


def test_a_region_that_is_called_again_and_again_is_the_loop_around_it(tmp_path, capsys):
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "steps.c").write_text(TIME_LOOP)
    flags, env = "-O2 -g -pg -fopenmp", {"OMP_NUM_THREADS": "2"}
    program = Program(tmp_path, tmp_path / "text", "steps.c", flags=flags, env=env)
    # Which function is chosen depends on how long threads wait for one another; where it is placed does not.
    recorded = open_run(str(program.run))
    profile = read_profile(recorded, inlined=True)
    sources = Sources(program.tree, recorded.directory, None, allow_changed=True)
    placer = Placer(recorded, recorded.processes[0], profile, find_phases(profile, k=1), sources)
    region = next(i for i, f in enumerate(profile.functions) if f.name.startswith("main._omp_fn"))
    spot = placer.place(region, "body", (0,))
    loop = spot.found.file.functions[spot.found.position].loops[spot.loop]
    assert (loop.line, spot.runs.basis) == (program.line("for (int step"), "at most")
    assert spot.runs.count.sum() >= 300
    assert placer.place(region, "body", (0,), around=True).loop is None


ROWS = """
#include <math.h>
#include <stdio.h>
#define N 20000
static double y[N];
int main(int argc, char **argv)
{
    int step = 0;
    (void)argv;
    if (argc > 5)
        goto inside;
    for (; step < 400; step++) {
        y[step] += 1;
    inside:
#pragma omp parallel for
        for (int row = 0; row < N; row++) {
            double sum = 0;
            for (int k = 0; k < 9; k++)
                sum += sqrt(row + k + y[row]);
            y[row] = sum;
        }
    }
    printf("%f\\n", y[7]);
}
"""


@pytest.mark.parametrize("kind", ["body", "loop"])
def test_a_loop_that_nobody_has_counted_gives_way_to_what_is_around_its_region(tmp_path, capsys, kind):
    """The loop in the region goes once a row, and the one around it takes no beat: there is the function."""
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "rows.c").write_text(ROWS)
    flags, env = "-O2 -g -pg -fopenmp -lm", {"OMP_NUM_THREADS": "2"}
    program = Program(tmp_path, tmp_path / "text", "rows.c", flags=flags, env=env)
    recorded = open_run(str(program.run))
    profile = read_profile(recorded, inlined=True)
    result = find_phases(profile, k=1)
    region = next(i for i, f in enumerate(profile.functions) if f.name.startswith("main._omp_fn"))
    (phase,) = result.phases
    result = replace(result, phases=(replace(phase, sites=(replace(phase.sites[0], index=region, kind=kind),)),))
    sources = Sources(program.tree, recorded.directory, None, allow_changed=True)
    placer = Placer(recorded, recorded.processes[0], profile, result, sources)
    chooser = SiteChooser(profile, build_features(profile, share=True), literal=False)
    (site,) = SitePlanner(placer, chooser, result, BeatCost(30.0, 1.5)).chosen()
    assert (site.name, site.rate.basis, site.refusal) == ("main:body", "at most", None)


def test_a_region_whose_loop_beats_too_often_gives_way_to_the_function_around_it(tmp_path, capsys):
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "region.c").write_text(REGION)
    # On a busy machine threads that spin for each other take what there is of time.
    flags, env = "-O2 -g -pg -fopenmp", {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
    program = Program(tmp_path, tmp_path / "text", "region.c", flags=flags, env=env)
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
