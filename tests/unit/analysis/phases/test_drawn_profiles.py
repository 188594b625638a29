"""No profile makes `phases` end with an error of its own, whatever calls, inlines or repeats what."""

import io
import os
from argparse import Namespace
from contextlib import redirect_stdout
from random import Random

import pytest

from incprof.cli.verbs import phases as verb
from incprof.errors import IncprofError
from incprof.model import Process, Run
from incprof.study import Study, StudyOptions
from tests.unit import drawn

# How many are tried by the slow test: INCPROF_DRAWN=10000 takes some minutes.
MANY = int(os.environ.get("INCPROF_DRAWN", "300"))
ASKED = Namespace(csv=False, brief=False, details=True, explain=True, threads=True, overhead=1.0, per_rank=False)


def answers(seed, directory, *, full=True):
    """What `phases` prints of a drawn profile; full: also by the paper's method, as JSON, and how sure it is."""
    profile = drawn.profile(Random(seed))
    run = Run(str(directory), "app", (Process(0, 1, str(directory / "rank-00000.gmon")),))
    for method in ("robust", "paper") if full else ("robust",):
        study = Study(run, profile=profile, options=StudyOptions(method=method, jobs=1))
        try:
            if method == "paper" or not full:  # How sure it is takes twelve times as long, by the same way.
                study.__dict__["_confident"] = study.phases(confidence=False)
            for json in (False, True)[: 1 + full]:
                with redirect_stdout(io.StringIO()) as out:
                    verb.write(study, Namespace(**vars(ASKED), json=json), [])
                yield out.getvalue()
        except IncprofError as error:
            yield str(error)


@pytest.mark.parametrize("seed", [8, 86, 93, 101, 102, 103])  # In two of these, a function is inlined into itself.
def test_an_answer_of_every_program(tmp_path, seed):
    assert all(answers(seed, tmp_path))


@pytest.mark.slow
def test_an_answer_of_very_many_programs(tmp_path):
    for seed in range(200, 200 + MANY):
        assert all(answers(seed, tmp_path, full=seed % 8 == 0)), seed
