"""The files that say what is expected of real programs are read, and say what a recipe's expectation has to say."""

import tomllib

import pytest

from truth.places import REAL
from truth.realworld import all_real
from truth.split import SPLITS, half_of_name

FILES = {path.stem: tomllib.loads(path.read_text()) for path in sorted(REAL.glob("*.toml"))}
RECIPES = sorted(path.stem for path in REAL.glob("*.sh") if path.stem != "record")


def test_all_files_are_read():
    runs = all_real()
    assert [run.name for run in runs] == [text["recording"] for text in FILES.values()]
    for run in runs:
        assert run.split in SPLITS
        assert run.truth.k
        assert list(run.truth.k) == sorted(set(run.truth.k))
        assert run.truth.k[0] >= 1
        names = [phase.name for phase in run.truth.phases]
        assert names
        assert len(set(names)) == len(names)
        assert all(phase.sites for phase in run.truth.phases)


@pytest.mark.parametrize("name", RECIPES)
def test_a_program_with_a_recipe(name):
    text = FILES[name]
    assert text["recording"] == name
    assert text["split"] == half_of_name(name)
    assert text["language"]
    assert text["parallel"] in ("serial", "openmp", "mpi")
    assert text["why"].strip()
    for phase in text["phase"]:
        check_steps(phase.get("steps", []))
        check_steps(phase.get("also_steps", []))


def check_steps(steps):
    """Steps have a name, a positive whole number as count where there is one, and steps again below them."""
    for step in steps:
        assert set(step) <= {"function", "count", "steps"}
        assert step["function"]
        assert isinstance(step.get("count", 1), int)
        assert step.get("count", 1) > 0
        check_steps(step.get("steps", []))
