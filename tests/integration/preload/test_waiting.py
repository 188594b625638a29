"""What recorded threads wait for, against the program's own clocks."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incprof.model.time_use import SPENT
from incprof.report.text.phases_text import head_line
from incprof.study.study import Study
from incprof.systems.waiting.analyse import ThreadWaits, waits_by_thread
from incprof.systems.waiting.causes import Kinds, functions_to, kinds_of
from incprof.systems.waiting.read import Waits, read_waits
from incprof.systems.waiting.sections import card
from tests.integration.collector import FIXTURES, Recording, variables
from tests.integration.conftest import Build, Record

REASONS = {
    "sleep": ("sleep", ""), "mutex": ("lock", "mutex"), "condition": ("lock", "condition"),
    "barrier": ("lock", "barrier"), "semaphore": ("lock", "semaphore"), "join": ("join", ""),
    "pipe": ("network", "pipe"), "socket": ("network", "socket"), "poll": ("network", "pipe"),
    "select": ("network", "select"), "epoll": ("network", "epoll"), "child": ("child", ""), "fault": ("fault", ""),
}  # fmt: skip
ONE_PROCESS = {"INCPROF_FOLLOW": "0"}


@dataclass(frozen=True)
class Read:
    """The waits of a recording, of its first thread."""

    waits: Waits
    kinds: Kinds
    table: ThreadWaits

    @property
    def row(self) -> int:
        return self.table.threads.tolist().index(0)

    def seconds(self) -> dict[tuple[str, str], float]:
        found: dict[tuple[str, str], float] = defaultdict(float)
        for reason, value in zip(self.kinds.reason, self.table.seconds[self.row].tolist(), strict=False):
            found[tuple(reason)] += value
        return found

    @property
    def unknown_s(self) -> float:
        return float(self.table.seconds[self.row, -1])


def read(recording: Recording) -> Read:
    waits = read_waits(str(recording.directory / "rank-00000.gmon"), str(recording.directory))
    assert waits is not None
    assert (waits.damaged, waits.refused) == (0, False)
    kinds = kinds_of(waits)
    return Read(waits, kinds, waits_by_thread(waits, kinds, waits.end_s - waits.begin_s))


def told(values: Mapping[str, int]) -> dict[tuple[str, str], float]:
    """Seconds of each reason, as the program has measured them."""
    found: dict[tuple[str, str], float] = defaultdict(float)
    for name, value in values.items():
        if name in REASONS:
            found[REASONS[name]] += value * 1e-6
    return found


def right(truth: Mapping[tuple[str, str], float], found: Mapping[tuple[str, str], float]) -> float:
    """The part of the truth whose cause is right."""
    causes = {cause for cause, _ in truth}
    both = [
        [sum(value for (cause, _), value in side.items() if cause == one) for side in (truth, found)] for one in causes
    ]
    return sum(map(min, both)) / sum(truth.values())


@pytest.fixture
def script(build: Build) -> Path:
    return build("wait_script.c", flags="-O0 -pthread", pg=False)


def test_every_wait_has_its_cause_path_and_holder(script: Path, record: Record) -> None:
    words = [f"{kind}:250" for kind in REASONS]
    recording = record([script, "2", *words], env={**ONE_PROCESS, "INCPROF_EXE": str(script)})
    found, truth = read(recording), told(recording.outcome.values())
    assert len(truth) >= len(set(REASONS.values())) - 1  # a page fault needs a permission
    seconds = found.seconds()
    for reason, value in truth.items():
        assert seconds[reason] == pytest.approx(value, rel=0.15, abs=0.1), reason
    assert found.unknown_s <= 0.05 * sum(truth.values())
    names = [
        [found.waits.paths.functions[each].name for each in functions_to(found.waits, node)]
        for node in found.kinds.node.tolist()
    ]
    row = found.table.seconds[found.row]
    longest = {
        reason: max((i for i, each in enumerate(found.kinds.reason) if tuple(each) == reason), key=lambda i: row[i])
        for reason in truth
    }
    for reason, index in longest.items():
        assert names[index][:2] == ["main", "step"], reason
    assert names[longest["lock", "mutex"]] == ["main", "step", "wait_for"]
    assert found.kinds.called[longest["lock", "mutex"]] == "pthread_mutex_lock"
    mutex = found.kinds.of_span == longest["lock", "mutex"]
    assert set(found.waits.holder[mutex].tolist()) == {1}


@pytest.mark.slow
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from([*REASONS, "burn"]), st.integers(3, 80)),
        min_size=2, max_size=6, unique_by=lambda each: each[0],
    )
)  # fmt: skip
def test_drawn_mixtures(script: Path, record: Record, drawn: list[tuple[str, int]]) -> None:
    repeat = max(3000 // sum(ms for _, ms in drawn), 1)
    words = [str(repeat), *(f"{kind}:{ms}" for kind, ms in drawn)]
    recording = record([script, *words], env={**ONE_PROCESS, "INCPROF_EXE": str(script)})
    found, truth = read(recording), told(recording.outcome.values())
    if sum(truth.values()) < 0.5:
        return
    assert found.unknown_s <= 0.05 * sum(truth.values())
    assert right(truth, found.seconds()) >= 0.9
    assert sum(found.seconds().values()) == pytest.approx(sum(truth.values()), rel=0.1, abs=0.1)


MOVES = """
import glob, os, time
def allowed(task):
    found = [line for line in open(f"{task}/status") if line.startswith("Cpus_allowed_list")]
    return found[0].split()[1]
def sampler():
    return next(task for task in glob.glob("/proc/self/task/*") if open(f"{task}/comm").read() == "incprof\\n")
both = sorted(os.sched_getaffinity(0))[:2]
for place, other in [both, both[::-1], both]:
    os.sched_setaffinity(0, {place})
    until = time.monotonic() + 30
    while allowed(sampler()) != str(other) and time.monotonic() < until:
        for _ in range(100):
            time.sleep(0.0002)
    print(place, allowed(sampler()))
"""


def test_samples_are_taken_from_another_processor_than_that_of_short_waits(tmp_path: Path, record: Record) -> None:
    places = sorted(os.sched_getaffinity(0))
    if len(places) < 2 or shutil.which("taskset") is None:
        pytest.skip("there is one processor")
    (tmp_path / "moves.py").write_text(MOVES)
    both = ",".join(map(str, places[:2]))
    recording = record(
        ["taskset", "-c", both, sys.executable, tmp_path / "moves.py"],
        env={"INCPROF_EXE": os.path.realpath(sys.executable)},
    )
    first, second = map(str, places[:2])
    assert recording.outcome.stdout.split() == [first, second, second, first, first, second]


@pytest.fixture
def rivals() -> Iterator[Callable[[int], str]]:
    """Starts programs that use one processor all the time; returns its number."""
    if shutil.which("taskset") is None:
        pytest.skip("taskset is missing")
    place = str(min(os.sched_getaffinity(0)))
    started = []

    def start(number: int) -> str:
        words = ["taskset", "-c", place, sys.executable, "-c", "while True: pass"]
        started.extend(subprocess.Popen(words) for _ in range(number))
        return place

    yield start
    for rival in started:
        rival.kill()
        rival.wait()


def test_time_without_a_processor_is_that_of_the_kernel(
    script: Path, record: Record, rivals: Callable[[int], str]
) -> None:
    recording = record(["taskset", "-c", rivals(1), script, "1", "burn:1000"], env={"INCPROF_EXE": str(script)})
    delayed = float(read(recording).table.delayed[0])
    assert delayed == pytest.approx(recording.outcome.values()["delayed"] * 1e-6, rel=0.1, abs=0.1)
    assert delayed > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("interval_s", ["0.05", "1"])
def test_a_long_time_without_a_processor_is_no_wait(
    script: Path, record: Record, rivals: Callable[[int], str], interval_s: str
) -> None:
    # It takes up to .3 s each time, of which the kernel says nothing before it ends.
    words = ["taskset", "-c", rivals(3), "nice", "-n", "10", script, "10", "sleep:20", "burn:10"]
    recording = record(words, env={"INCPROF_EXE": str(script), "INCPROF_INTERVAL": interval_s})
    found, truth = read(recording), recording.outcome.values()
    delayed_s, slept_s = truth["delayed"] * 1e-6, truth["sleep"] * 1e-6
    assert found.table.delayed[found.row] == pytest.approx(delayed_s, rel=0.02, abs=0.05)
    assert found.seconds()["sleep", ""] == pytest.approx(slept_s, abs=0.1 + 0.03 * delayed_s)


def test_threads_of_openmp_wait_for_each_other(build: Build, record: Record) -> None:
    program = build("wait_openmp.c", flags="-O1 -fopenmp", pg=False)
    env = {"INCPROF_EXE": str(program), "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "2"}
    found = read(record([program], env=env))
    seconds = found.seconds()
    assert seconds["openmp", ""] == max(seconds.values())
    assert seconds["openmp", ""] >= 0.8


def test_the_card_names_what_a_phase_waits_for(script: Path, record: Record) -> None:
    words = ["3", "burn:100", "mutex:300"]
    recording = record([script, *words], env={"INCPROF_EXE": str(script)})
    study = Study(recording.directory)
    part = card(study, None)
    assert part is not None
    longest = max(study.phases().present, key=lambda phase: phase.seconds).id  # of a busy machine's two
    value = part.values[longest]
    assert isinstance(value, dict)
    (path,) = (path for path in value["lock"]["paths"] if path["kind"] == "mutex")  # beside those of the holder
    assert (path["called"], path["function"]) == ("pthread_mutex_lock", "wait_for")
    assert path["file"].endswith("wait_script.c")
    assert path["holder"]["function"] == "pause_ms"
    (sentence,) = (column for column in part.columns if column.head == "Waits")
    assert "locks" in sentence.get(longest)
    assert {amount.metric for amount in part.amounts} >= {"wait", "wait.lock"}


def test_a_lock_of_the_standard_library_is_waited_for_where_the_program_takes_it(
    tmp_path: Path, build: Build, record: Record
) -> None:
    source = tmp_path / "mutex.cpp"
    source.write_text(
        '#include <chrono>\n#include <mutex>\n#include <thread>\n#include "burn.h"\n'
        "static std::mutex lock;\n"
        "__attribute__((noipa)) static void update() {\n"
        "  for (int i = 0; i < 40; i++) {\n"
        "    std::lock_guard<std::mutex> guard(lock);\n"
        "    std::this_thread::sleep_for(std::chrono::milliseconds(15));\n"
        "    BURN(200000);\n"
        "  }\n}\n"
        "int main() { std::thread other(update); update(); other.join(); }\n"
    )
    program = build(source, flags=f"-O2 -g -pthread -I{FIXTURES}", pg=False, output="mutex")
    study = Study(record([program], env={"INCPROF_EXE": str(program)}).directory)
    part = card(study, None)
    assert part is not None
    paths = [path for value in part.values.values() if isinstance(value, dict) for path in value["lock"]["paths"]]
    assert {(path["function"], Path(path["file"]).name) for path in paths if path["kind"] == "mutex"} == {
        ("update()", "mutex.cpp")
    }


def test_a_program_that_only_waits_has_phases_by_what_it_waits_for(build: Build, record: Record) -> None:
    program = build("only_waits.c", flags="-O1 -g -pthread", pg=False)
    recording = record([program], env={**ONE_PROCESS, "INCPROF_EXE": str(program)})
    study = Study(recording.directory)
    phases, truth = study.phases().present, recording.outcome.values()
    longest = {site.function.name: phase for phase in phases for site in phase.sites}
    assert set(longest) >= {"serve", "rest", "update"}
    assert set(truth) == {"serve", "rest", "update"}
    for name, value in truth.items():
        assert longest[name].seconds == pytest.approx(value * 1e-6, abs=0.5), name  # a busy machine has few samples
    part = card(study, None)
    assert part is not None
    causes = {}
    for name, phase in longest.items():
        value = part.values[phase.id]
        assert isinstance(value, dict)
        causes[name] = max(value, key=lambda cause: value[cause]["share"])
    assert (causes["serve"], causes["rest"], causes["update"]) == ("network", "sleep", "lock")
    assert sum(phase.spent.get(kind, 0.0) for phase in phases for kind in SPENT) < 0.3  # CPU time
    assert study.summary.by_waits
    assert re.search(r", overhead [\d.]+ s$", head_line(study.summary))
    assert any("waits nearly all the time" in warning for warning in study.profile.warnings)


def test_waits_count_until_the_end_of_the_recording(script: Path, record: Record) -> None:
    recording = record([script, "1", "sleep:1500"], env={**ONE_PROCESS, "INCPROF_EXE": str(script)})
    found = read(recording)
    last_s = float(found.waits.end_s[found.waits.thread == 0].max())
    assert Study(recording.directory).profile.end_s[-1] - last_s < 0.02


def test_short_threads_with_a_sample_stand_for_those_without(build: Build, record: Record) -> None:
    program = build("short_threads.c", flags="-O1 -g -pthread", pg=False)
    recording = record([program], env={**ONE_PROCESS, "INCPROF_EXE": str(program)})
    truth = {name: value * 1e-6 for name, value in recording.outcome.values().items()}
    found = read(recording)
    threads = found.table.threads > 0
    # From some 100 rounds of samples, fewer on a busy machine; an eighth of it without those that stand for others.
    assert float(found.table.wall[threads].sum()) == pytest.approx(truth["lived"], rel=0.35)
    part = card(Study(recording.directory), None)
    assert part is not None
    locked_s = {
        phase: sum(path["seconds"] for path in value["lock"]["paths"])
        for phase, value in part.values.items()
        if isinstance(value, dict) and "lock" in value
    }
    longest = max(locked_s, key=lambda phase: locked_s[phase])
    (sentence,) = (column for column in part.columns if column.head == "Waits")
    text = sentence.get(longest)
    assert "of the time of its short threads" in text
    assert "pthread_mutex_lock in update" in text
    assert sum(locked_s.values()) == pytest.approx(truth["locked"], rel=0.45)


def test_a_stopped_process_waits_for_nothing(script: Path, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    env = {**os.environ, **variables(directory), "INCPROF_EXE": str(script)}
    process = subprocess.Popen([script, "1", "sleep:2500"], env=env, stdout=subprocess.PIPE, text=True)
    time.sleep(0.7)
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.8)
    process.send_signal(signal.SIGCONT)
    assert process.communicate()[0]
    waits = read_waits(str(directory / "rank-00000.gmon"), str(directory))
    assert waits is not None
    assert 1.2 <= float(waits.waited_s[waits.thread == 0].sum()) <= 2.0


def test_only_the_thread_that_samples_waits_has_a_short_slice(build: Build, record: Record) -> None:
    program = build("slices.c", flags="-O1", pg=False)
    slices = record([program], env={**ONE_PROCESS, "INCPROF_EXE": str(program)}).outcome.values()
    sampling = slices.pop("incprof")
    if slices["main"] == 0:
        pytest.skip("the kernel has no slices of threads (before Linux 6.12)")
    assert sampling == 100000
    assert all(each > sampling for each in slices.values())
    plain = record([program], env={**ONE_PROCESS, "INCPROF_EXE": str(program), "INCPROF_WAITS": "0"}).outcome.values()
    assert plain["incprof"] == plain["main"]


def test_without_samples_of_waits_there_are_none(script: Path, record: Record) -> None:
    recording = record([script, "1", "burn:50", "sleep:200"], env={"INCPROF_EXE": str(script), "INCPROF_WAITS": "0"})
    assert read_waits(str(recording.directory / "rank-00000.gmon"), str(recording.directory)) is None
    assert card(Study(recording.directory), None) is None
