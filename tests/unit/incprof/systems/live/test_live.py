"""A running job, look by look: phases keep their numbers, and in the end they are those of the whole run."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.analysis.answer import find_phases
from incprof.readers.stream import follow
from incprof.readers.stream.follow import RunFollower
from incprof.systems.live.job_state import BETWEEN, NEW
from incprof.systems.live.track import FIRST_FIT, LiveRun
from tests.unit.streamwriter import PROFILER, Sample, StreamWriter

FUNCTIONS = ["main", "read", "solve", "flux", "write", "other", "kernel"]
MIXES = {
    "r": [("main;read", 90), ("main", 10)],
    "s": [("main;solve", 30), ("main;solve;kernel", 70)],
    "f": [("main;flux", 10), ("main;flux;kernel", 90)],
    "w": [("main;write", 95), ("main;other", 5)],
    ".": [],
}


class Job:
    """A job that writes an interval for each letter, and what looks at it."""

    def __init__(self, root, *, window=3600, **options):
        self.writer = StreamWriter(FUNCTIONS, **options)
        self.directory = self.writer.save(root / "run")
        self.path = self.directory / f"rank-{self.writer.rank:05d}.gmon"
        self.run = RunFollower(str(self.directory))
        self.run.scan()
        [(self.process, self.follower)] = self.run.processes
        self.follower.keep = window
        self.live = LiveRun(window)
        self.rng = np.random.default_rng(7)
        self.fits = 0

    def goes_on(self, letters, *, fit=True):
        """Write intervals, each looked at by itself; phases are found when it is time."""
        for letter in letters:
            weights = [(path, int(self.rng.poisson(weight))) for path, weight in MIXES[letter]]
            samples = [Sample(path, weight=weight) for path, weight in weights if weight]
            with self.path.open("ab") as raw:
                raw.write(self.writer.interval(samples))
            self.live.add(self.process, self.follower.poll().profile, lead=True)
            if fit and self.live.due(self.process):
                self.fit()

    def fit(self):
        self.fits += 1
        found = find_phases(self.follower.window())
        self.live.refit(self.process, found, self.follower.n_intervals, 100.0)
        return found

    def view(self):
        return self.live.view(self.process)

    def labels(self):
        return "".join({NEW: "?", BETWEEN: "."}.get(label, str(label)) for label in self.view().front.labels.tolist())


def test_phases_are_named_as_they_come_and_keep_their_numbers(tmp_path):
    job = Job(tmp_path)
    job.goes_on("r" * 10)
    assert job.labels() == "0" * 10
    job.goes_on("s" * 10 + "r" * 10 + "w" * 20)
    job.fit()
    assert job.labels() == "0" * 10 + "1" * 10 + "0" * 10 + "2" * 20
    front = job.view().front
    assert (front.label, front.since_s, front.elapsed_s) == (2, pytest.approx(20.0), pytest.approx(50.0))
    named = {phase.id: phase.description.sites[0].function.name for phase in job.view().phases}
    assert named == {0: "read", 1: "kernel", 2: "write"}
    assert {phase.id: phase.intervals for phase in job.view().phases} == {0: 20, 1: 10, 2: 20}


def test_the_same_kernel_from_another_caller_is_another_phase(tmp_path):
    job = Job(tmp_path)
    job.goes_on("s" * 12 + "f" * 12 + "s" * 12)
    job.fit()
    job.goes_on("fsf", fit=False)
    assert job.labels() == "0" * 12 + "1" * 12 + "0" * 12 + "101"


def test_a_mix_that_there_was_not_is_new_until_phases_are_found_again(tmp_path):
    job = Job(tmp_path)
    job.goes_on("r" * 20 + "s" * 20)
    job.fit()
    job.goes_on("www", fit=False)
    assert job.labels()[-3:] == "???"
    assert not job.live.due(job.process)
    job.goes_on("wwww")
    assert "?" not in job.labels()
    assert job.labels() == "0" * 20 + "1" * 20 + "2" * 7


def test_half_of_one_phase_and_half_of_another_is_between_them(tmp_path):
    job = Job(tmp_path)
    job.goes_on("r" * 20 + "s" * 20)
    job.fit()
    with job.path.open("ab") as raw:
        raw.write(job.writer.interval([Sample("main;read", weight=50), Sample("main;solve;kernel", weight=35),
                                       Sample("main;solve", weight=15)]))  # fmt: skip
    job.live.add(job.process, job.follower.poll().profile, lead=True)
    assert job.labels()[-1] == "."


def test_waiting_is_no_new_mix(tmp_path):
    job = Job(tmp_path)
    job.goes_on("r" * 20)
    job.fit()
    job.goes_on("..", fit=False)
    assert job.labels()[-2:] == ".."
    job.goes_on("." * 10)
    job.fit()
    waits = job.view().front.label
    assert next(phase for phase in job.view().phases if phase.id == waits).description.off_cpu
    job.goes_on("r.", fit=False)
    assert job.view().front.labels.tolist()[-2:] == [0, waits]


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("rsfw"), st.integers(1, 15)), min_size=1, max_size=6))
def test_in_the_end_the_phases_are_those_of_the_whole_run(tmp_path_factory, story):
    job = Job(tmp_path_factory.mktemp("job"))
    job.goes_on("".join(letter * many for letter, many in story))
    found = job.fit()
    labels = job.view().front.labels
    assert ((labels < 0) == (found.labels < 0)).all()
    pairs = {(a, b) for a, b in zip(labels.tolist(), found.labels.tolist(), strict=True) if a >= 0}
    assert len(pairs) == found.k == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    assert len(job.view().phases) == found.k


@pytest.mark.slow
def test_fits_become_rare_as_the_run_grows(tmp_path, monkeypatch):
    job = Job(tmp_path)
    ends = []
    monkeypatch.setattr(job, "fit", lambda: ends.append(job.follower.n_intervals) or Job.fit(job))
    job.goes_on("rs" * 50)
    assert ends[0] == FIRST_FIT
    assert all(b >= 1.25 * a for a, b in pairwise(ends) if a > 16)


@pytest.mark.slow
def test_a_phase_that_left_the_window_comes_back_under_its_number(tmp_path, monkeypatch):
    monkeypatch.setattr(follow, "MOST_INTERVALS", 4)
    job = Job(tmp_path, window=24)
    job.goes_on("r" * 20 + "s" * 60)
    job.fit()
    assert job.follower.first_kept > 20
    assert {phase.id for phase in job.view().phases} == {0, 1}
    job.goes_on("rr", fit=False)
    assert job.labels()[-2:] == "00"
    job.goes_on("r" * 10)
    job.fit()
    assert job.labels() == "0" * 20 + "1" * 60 + "0" * 12
    assert [phase.intervals for phase in job.view().phases] == [32, 60]


def test_functions_now_and_over_the_run(tmp_path):
    job = Job(tmp_path)
    job.goes_on("r" * 30 + "w" * 10, fit=False)
    front = job.view().front
    assert front.now_s == pytest.approx(10.0)
    shares = {f.function.name: (f.share, f.run_share) for f in front.functions}
    assert shares["write"][0] == pytest.approx(0.95, abs=0.03)
    assert shares["write"][1] == pytest.approx(0.95 / 4, abs=0.02)
    assert shares["read"][0] == 0
    assert sum(now for now, _ in shares.values()) == pytest.approx(1)
    assert sum(run for _, run in shares.values()) == pytest.approx(1)


def test_the_step_is_the_one_with_most_of_the_last_interval(tmp_path):
    job = Job(tmp_path)
    mixed = [("main;solve", 60), ("main;write", 40)]
    for weights in [mixed] * 19 + [[(path, 100 - weight) for path, weight in mixed]]:
        with job.path.open("ab") as raw:
            arcs = {("main", "solve"): 5, ("main", "write"): 5}
            raw.write(job.writer.interval([Sample(p, weight=w) for p, w in weights], arcs=arcs))
        job.live.add(job.process, job.follower.poll().profile, lead=True)
    found = job.fit()
    assert {step.function.name for step in found.phases[0].steps} >= {"solve", "write"}
    step, share = job.view().front.step
    assert (step.name, share) == ("write", pytest.approx(0.6))


def test_other_ranks_are_laid_beside_the_phases_of_the_lead(tmp_path):
    job = Job(tmp_path)
    job.goes_on("r" * 10 + "s" * 10)
    job.fit()
    other = StreamWriter(FUNCTIONS, rank=3)
    for letter in "rrsw":
        other.interval([Sample(path, weight=weight) for path, weight in MIXES[letter]], counters={10: 2, 9: 5})
    other.save(job.directory)
    job.run.scan()
    process, follower = job.run.processes[1]
    job.live.add(process, follower.poll().profile, lead=False)
    view = job.view()
    assert [p.rank for p in view.processes] == [0, 3]
    assert view.processes[1].labels.tolist() == [0, 0, 1, NEW]
    assert view.processes[1].lost == 20
    assert view.processes[1].behind_s == pytest.approx(16.0)
    assert view.front.rank == 0


def test_time_in_the_profiler_belongs_to_no_function(tmp_path):
    job = Job(tmp_path)
    with job.path.open("ab") as raw:
        raw.write(job.writer.interval([Sample("main;read", weight=50), Sample("main;solve", PROFILER, weight=50)]))
    job.live.add(job.process, job.follower.poll().profile, lead=True)
    assert [(f.function.name, f.share) for f in job.view().front.functions] == [("read", 1.0)]
    assert job.view().front.overhead_pct == pytest.approx(100.0)


def test_a_run_that_starts_over_is_another_run(tmp_path):
    job = Job(tmp_path)
    job.goes_on("r" * 10 + "s" * 10)
    job.writer = StreamWriter(FUNCTIONS, pid=4712)
    job.path.write_bytes(job.writer.data)
    assert job.follower.poll().restarted
    job.live.restart(job.process)
    assert job.view() is None
    job.goes_on("w" * 10)
    assert job.labels() == "0" * 10
