"""Programs with known phases: their files are whole, and one is built, recorded, labelled and scored."""

import subprocess
import tomllib

import numpy as np
import pytest

from truth import realworld
from truth.evaluate import evaluate
from truth.places import PROGRAMS, REAL
from truth.realworld import all_real, recording_of
from truth.recordings import NotRecorded, all_programs, recorded
from truth.split import SPLITS

PROGRAM = """
#include <time.h>
#include "truth_log.h"

static volatile double sum;

KEPT static void burn(int rounds) { for (int i = 0; i < rounds; i++) sum += i; }
KEPT static void sweep(void) { burn(100000); for (int i = 0; i < 900000; i++) sum += i; }
KEPT static void gather(void) { for (int i = 0; i < 1000000; i++) sum -= i; }

static void repeat(void (*step)(void), double seconds)
{
    clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    while (clock() < end) step();
}

int main(void)
{
    truth_phase("sweeping");
    repeat(sweep, 1.0);
    truth_phase("gathering");
    repeat(gather, 1.0);
    truth_end();
    return 0;
}
"""
TRUTH = """
split = "tune"
kinds = ["test"]
build = ["gcc", "-std=gnu11", "-O1"]
run = []
interval = 0.1

[[phase]]
name = "gathering"
sites = [{ function = "gather", kind = "body" }]

[[phase]]
name = "sweeping"
sites = [{ function = "sweep", kind = "body" }]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("INCPROF_SCRATCH", str(tmp_path / "scratch"))
    (tmp_path / "pair.c").write_text(PROGRAM)
    (tmp_path / "pair.toml").write_text(TRUTH)
    return tmp_path


@pytest.mark.slow
def test_a_program_is_recorded_once_and_labelled_by_its_log(folder):
    (program,) = all_programs(folder=folder)
    profile, labels = recorded(program)
    # Each phase is there, in the order of the log and not of the truth, with one border.
    pure = labels[labels >= 0]
    assert pure[0] == 1
    assert pure[-1] == 0
    assert (np.diff(pure) != 0).sum() == 1
    # In what the log calls one phase, that phase's function has most of the time; a busy machine's ticks come late.
    names = [f.name for f in profile.functions]
    own = profile.self_s.toarray()
    for label, name in ((0, "gather"), (1, "sweep")):
        time = own[labels == label]
        assert time[:, names.index(name)].sum() > 0.5 * time.sum()
    outcome = evaluate("pair", "pair", "tune", profile, labels, program.truth, "paper")
    assert outcome.sites.hops
    made = sorted(path.stat().st_mtime_ns for path in (folder / "scratch").rglob("*.gmon"))
    again, same = recorded(program)
    assert made == sorted(path.stat().st_mtime_ns for path in (folder / "scratch").rglob("*.gmon"))
    assert (again.self_s != profile.self_s).nnz == 0
    assert (same == labels).all()


def test_what_cannot_be_had_is_one_line(folder):
    (folder / "pair.toml").write_text(TRUTH.replace('"gcc"', '"no-such-compiler"'))
    (program,) = all_programs(folder=folder)
    with pytest.raises(NotRecorded, match="no-such-compiler is not installed"):
        recorded(program)
    (folder / "pair.toml").write_text(TRUTH)
    (folder / "pair.c").write_text("int main(void) { return 3; }")
    (program,) = all_programs(folder=folder)
    with pytest.raises(NotRecorded, match="failed with 3"):
        recorded(program)
    for run in all_real():
        if not (REAL / f"{run.name}.sh").exists():
            with pytest.raises(NotRecorded, match="make realworld"):
                recording_of(run)


def test_a_recipe_that_fails_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("INCPROF_SCRATCH", str(tmp_path / "scratch"))
    monkeypatch.setattr(realworld, "REAL", tmp_path)
    (tmp_path / "code.sh").write_text("package=code\n")
    (tmp_path / "code.toml").write_text('recording = "code"\nsplit = "tune"\nk = [1]\nphase = []\n')
    (tmp_path / "record.sh").write_text("echo realworld: no sources here >&2; exit 77\n")
    (run,) = all_real(folder=tmp_path)
    with pytest.raises(NotRecorded, match=r"^record.sh code failed with 77: realworld: no sources here$"):
        recording_of(run)


def test_a_truth_without_its_program_is_refused(folder):
    (folder / "pair.c").unlink()
    with pytest.raises(ValueError, match="no program of that name"):
        all_programs(folder=folder)


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.toml")), ids=lambda path: path.stem)
def test_the_truth_of_each_program_is_whole(path):
    (program,) = [program for program in all_programs() if program.name == path.stem]
    source = program.source.read_text()
    assert program.split in SPLITS
    assert program.words("build")
    assert len({phase.name for phase in program.truth.phases}) == len(program.truth.phases) >= 1
    for phase in program.truth.phases:
        assert phase.name in source
        assert phase.sites
        for name in (*(site.function for site in phase.sites), *phase.steps):
            assert name.split("::")[-1] in source


def test_the_halves_of_the_programs_are_those_of_the_table():
    rows = [line.split("|") for line in (PROGRAMS / "README.md").read_text().splitlines() if line.startswith("| ")]
    table = {row[i].strip(" `").partition(".")[0]: half for row in rows for i, half in ((2, "tune"), (3, "held"))}
    for program in all_programs():
        assert table[program.name] == program.split


def test_the_truths_of_real_programs_are_whole():
    runs = all_real()
    assert {run.split for run in runs} == set(SPLITS)
    for run in runs:
        assert run.truth.k == tuple(sorted(run.truth.k))
        assert all(phase.sites for phase in run.truth.phases)
    # What they say stands on the page that was written before the first recording.
    page = (REAL / "expected.md").read_text()
    for path in REAL.glob("*.toml"):
        if path.with_suffix(".sh").exists():
            continue  # its key `why` names the place to read
        for phase in tomllib.loads(path.read_text())["phase"]:
            for site in phase["sites"]:
                name = site["function"]
                assert name in page or name.removeprefix("ZSTD_compressBlock") in page


def test_the_log_header_compiles_without_warnings(tmp_path):
    (tmp_path / "pair.c").write_text(PROGRAM)
    command = ["gcc", "-Wall", "-Wextra", "-Werror", "-I", str(PROGRAMS), "-c", "pair.c", "-o", "pair.o"]
    subprocess.run(command, cwd=tmp_path, check=True)
