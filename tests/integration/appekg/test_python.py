"""import appekg: beats of Python programs, with threads, processes, generators and coroutines."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import appekg
from appekg import _declarations
from tests.integration.appekg_use import ROOT, environment, installation, run, totals

Totals = dict[tuple[int, str | None], tuple[int, int]]
RunPython = Callable[..., str]


@pytest.fixture
def python(tmp_path: Path) -> RunPython:
    """Runs a script, whose heartbeats go to tmp_path/ekg; what it prints."""

    def run_script(script: str, *, status: int = 0, **variables: object) -> str:
        (tmp_path / "script.py").write_text(textwrap.dedent(script))
        settings = {"EKG_DIR": tmp_path / "ekg", "PYTHONPATH": ROOT, **variables}
        return run(sys.executable, "script.py", cwd=tmp_path, env=environment(**settings), status=status)

    return run_script


@pytest.fixture
def beats(python: RunPython, tmp_path: Path) -> Callable[..., Totals]:
    """Runs a script that prints nothing; what it beats."""

    def run_script(script: str, **variables: object) -> Totals:
        assert python(script, **variables) == ""
        return totals(tmp_path / "ekg")

    return run_script


def test_every_way_to_beat(beats: Callable[..., Totals]) -> None:
    assert beats("""
        import appekg
        @appekg.beat(2)
        def double(x, *, by=2):
            return by * x
        again = appekg.beat(1)
        for i in range(10):
            with again, again:
                assert double(i, by=3) == 3 * i
        assert double.__name__ == "double" and repr(again) == "appekg.beat(1)"
        appekg.begin(3); appekg.begin(3); appekg.end(3); appekg.end(3)
        for _ in range(7):
            appekg.pulse(2**32 - 1)
        appekg.name(1, "nested"); appekg.name(2, "größe")
    """) == {(1, "nested"): (20, 0), (2, "größe"): (10, 0), (3, None): (2, 0), (2**32 - 1, None): (0, 7)}


def test_a_beat_ends_however_its_block_is_left(beats: Callable[..., Totals]) -> None:
    assert beats("""
        import appekg
        @appekg.beat(1)
        def fails():
            raise KeyError
        def returns():
            with appekg.beat(2):
                return 1
        for _ in range(5):
            try:
                fails()
            except KeyError:
                pass
            returns()
            with appekg.beat(3):
                continue
    """) == {(1, None): (5, 0), (2, None): (5, 0), (3, None): (5, 0)}


def test_threads_share_a_beat(beats: Callable[..., Totals], tmp_path: Path) -> None:
    assert beats("""
        import threading, appekg
        beat = appekg.beat(1)
        def work():
            for _ in range(500):
                with beat:
                    with beat:
                        pass
        threads = [threading.Thread(target=work) for _ in range(20)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """) == {(1, None): (20_000, 0)}
    assert len(set(appekg.read(tmp_path / "ekg").rows["thread"])) == 20


def test_generators_and_coroutines_are_beats_while_they_live(beats: Callable[..., Totals], tmp_path: Path) -> None:
    found = beats("""
        import asyncio, time, appekg
        @appekg.beat(1)
        def numbers(n):
            got = yield 0
            assert got == "sent"
            yield from range(n)
            return "done"
        def outer():
            assert (yield from numbers(3)) == "done"
        steps = outer()
        next(steps); steps.send("sent")
        time.sleep(0.02)
        assert list(steps) == [1, 2]
        unfinished = numbers(3)
        next(unfinished)
        unfinished.close()
        numbers(5)                       # never started: no beat
        @appekg.beat(2)
        async def answer(x):
            await asyncio.sleep(0.02)
            return x
        async def all():
            return await asyncio.gather(*map(answer, range(10)))
        assert asyncio.run(all()) == list(range(10))
        try:
            @appekg.beat(3)
            async def stream(): yield 1
        except TypeError as error:
            assert "asynchronous generator" in str(error)
        else:
            raise SystemExit("no error")
    """)
    assert found == {(1, None): (2, 0), (2, None): (10, 0)}
    rows = appekg.read(tmp_path / "ekg").rows
    assert int(rows["max_ns"][rows["id"] == 1].max()) >= 20_000_000
    assert int(rows["sum_ns"][rows["id"] == 2].sum()) >= 10 * 20_000_000


def test_settings(python: RunPython, tmp_path: Path) -> None:
    script = """
        import pathlib, appekg
        print(appekg.init(pathlib.Path("there"), ["file"], interval_s=30, rate_factor=10, start_off=True))
        print(appekg.is_enabled())
        appekg.pulse(1)
        appekg.enable()
        print(appekg.is_enabled(), appekg.init())
        appekg.rate(2, 5)
        for _ in range(100):
            with appekg.beat(1): pass
            with appekg.beat(2): pass
        appekg.disable()
        appekg.pulse(1)
        appekg.finalize()
        print(appekg.is_enabled(), appekg.init())
    """
    assert python(script, EKG_DIR="").split() == "True False True True False False".split()
    assert totals(tmp_path / "there") == {(1, None): (10, 0), (2, None): (20, 0)}
    assert appekg.read(tmp_path / "there").processes[0].interval_s == 30
    # The user's environment has the last word.
    python(script, EKG_DIR="here", EKG_INTERVAL=20)
    assert appekg.read(tmp_path / "here").processes[0].interval_s == 20


def test_what_c_cannot_take(python: RunPython) -> None:
    said = python("""
        import appekg
        def refused(call, *words):
            try:
                call(*words)
            except (OverflowError, TypeError, ValueError) as error:
                return type(error).__name__
        for call in (appekg.begin, appekg.end, appekg.pulse):
            print(*[refused(call, wrong) for wrong in (-1, 2**32, "1", 1.0, None)])
        print(*[refused(appekg.beat, wrong) for wrong in (-1, 2**32, "1", 1.0, None)])
        print(refused(appekg.rate, 1, -1), refused(appekg.name, -1, ""), refused(appekg.name, 1, "a\\0b"))
        print(refused(appekg.init, "a\\0b"), refused(appekg.init, None, None, 0, -1))
    """)
    numbers = "OverflowError OverflowError TypeError TypeError TypeError"
    ids = "ValueError ValueError TypeError TypeError TypeError"
    others = ["OverflowError OverflowError ValueError", "ValueError OverflowError"]
    assert said.splitlines() == [numbers, numbers, numbers, ids, *others]


WORKER = """
    import multiprocessing, sys, appekg
    appekg.name(1, "worker")
    def work(n):
        for _ in range(n):
            with appekg.beat(1): pass
    if __name__ == "__main__":
        {before}
        context = multiprocessing.get_context({method!r})
        workers = [context.Process(target=work, args=(100 * n,)) for n in (1, 2, 3)]
        for worker in workers: worker.start()
        for worker in workers: worker.join()
        assert [worker.exitcode for worker in workers] == [0, 0, 0]
"""


@pytest.mark.parametrize("before", ["", "work(7)"])
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_worker_processes_lose_nothing(python: RunPython, tmp_path: Path, method: str, before: str) -> None:
    """They leave by os._exit before their first interval is over."""
    assert python(WORKER.format(method=method, before=before), EKG_INTERVAL=3600) == ""
    places = [place for place in tmp_path.glob("ekg*") if list(place.glob("*.ekg"))]
    files = sorted(file for place in places for file in place.glob("*.ekg"))
    counts = sorted(int(appekg.read(file).rows["count"].sum()) for file in files)
    assert counts == [*([7] if before else []), 100, 200, 300]
    assert all(process.clean for place in places for process in appekg.read(place).processes)


def test_fork_and_pool(beats: Callable[..., Totals]) -> None:
    assert beats("""
        import concurrent.futures, multiprocessing, os, sys, appekg
        def work(n):
            with appekg.beat(1): return n
        with appekg.beat(2): pass
        child = os.fork()
        if child == 0:
            work(0)
            sys.exit(3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        context = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
            assert list(pool.map(work, range(50))) == list(range(50))
    """) == {(1, None): (51, 0), (2, None): (1, 0)}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python warns of forks beside threads from 3.12 on")
def test_a_fork_beside_a_thread_of_the_programs_own_is_warned_of(python: RunPython) -> None:
    """And not one beside the interval thread alone."""
    said = python("""
        import os, sys, threading, appekg
        def fork():
            child = os.fork()
            if child == 0: os._exit(0)
            os.waitpid(child, 0)
        with appekg.beat(1): pass
        fork()
        print("one more", file=sys.stderr)
        wait = threading.Event()
        threading.Thread(target=wait.wait).start()
        fork()
        wait.set()
    """)
    before, after = said.split("one more")
    assert (before, after.count("is multi-threaded")) == ("", 1)


@pytest.mark.parametrize(
    ("ending", "status"),
    [("", 0), ("sys.exit(4)", 4), ("raise SystemExit(5)", 5), ("raise KeyError", 1), ("appekg.finalize()", 0)],
)
def test_every_end_writes_the_last_interval(python: RunPython, tmp_path: Path, ending: str, status: int) -> None:
    """Daemon threads go on beating while the interpreter is taken down."""
    script = f"""
        import sys, threading, time, appekg
        def forever():
            while True:
                with appekg.beat(2): time.sleep(0.0001)
        threads = [threading.Thread(target=forever, daemon=True) for _ in range(3)]
        for thread in threads: thread.start()
        for _ in range(10):
            with appekg.beat(1): pass
        {ending}
    """
    said = python(script, status=status, EKG_INTERVAL=3600)
    assert ("KeyError" in said) == (status == 1)
    found = appekg.read(tmp_path / "ekg")
    assert found.processes[0].clean
    assert found.rows["count"][found.rows["id"] == 1].tolist() == [10]


def test_without_the_library_only_beats_fail(python: RunPython, tmp_path: Path) -> None:
    said = python(
        """
        import appekg
        beat = appekg.beat(1)
        @appekg.beat(2)
        def work(): pass
        for use in (work, beat.__enter__, appekg.init, appekg.finalize):
            try:
                use()
            except ImportError as error:
                print(error)
        """,
        APPEKG_LIB=tmp_path / "none.so",
    )
    line = f"APPEKG_LIB={tmp_path}/none.so: no such file; unset it, or set it to the path of libappekg.so.1"
    assert said.splitlines() == [line] * 4


def test_an_invalid_library(python: RunPython, tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("no library")
    script = "import appekg\ntry: appekg.pulse(1)\nexcept ImportError as error: print(error)"
    assert f"{tmp_path}/text.so cannot be loaded" in python(script, APPEKG_LIB=tmp_path / "text.so")
    (tmp_path / "empty.c").touch()
    run("gcc", "-shared", "empty.c", "-o", "empty.so", cwd=tmp_path)
    assert "is not the one that this package needs" in python(script, APPEKG_LIB=tmp_path / "empty.so")


def test_a_library_that_the_process_has_already_is_used(beats: Callable[..., Totals], tmp_path: Path) -> None:
    """An extension module may be linked with one from another place: two would write two files."""
    shutil.copy2(installation().library, tmp_path / "another.so")
    assert beats("""
        import ctypes, appekg
        extension = ctypes.CDLL("./another.so")
        extension.ekg_pulse(1)
        appekg.pulse(1)
        maps = open("/proc/self/maps").read()
        assert "another.so" in maps and "libappekg" not in maps
    """) == {(1, None): (0, 2)}


def test_import_is_cheap(python: RunPython) -> None:
    code = (
        "import sys, appekg\nprint(sorted({'numpy', 'cffi', '_cffi_backend', 'asyncio', 'pandas'} & set(sys.modules)))"
    )
    assert python(code) == "[]\n"


def test_the_generated_file_is_what_would_be_generated_now(tmp_path: Path) -> None:
    _declarations.write(tmp_path / "_ffi.py")
    assert (tmp_path / "_ffi.py").read_text() == (ROOT / "appekg/_ffi.py").read_text()


def test_what_appekg_offers() -> None:
    assert all(hasattr(appekg, name) for name in appekg.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = appekg.nothing


def test_cost_is_known_before_a_program_beats(python: RunPython, tmp_path: Path) -> None:
    python("""
        import appekg, dataclasses
        cost = appekg.cost()
        assert cost.pair_ns > 0 and cost.skipped_ns > 0 and appekg.cost() == cost
        assert appekg.python_ns() > cost.pair_ns  # two calls through cffi
        try:
            cost.pair_ns = 1.0
        except dataclasses.FrozenInstanceError:
            pass
        else:
            raise AssertionError
    """)
    assert not (tmp_path / "ekg").exists()
