"""Work in threads: all of it is done, by as many as there are."""

import _thread
import subprocess
import sys
import threading

import pytest

from incprof.analysis.thread_pool import spread


@pytest.mark.parametrize("threads", [None, 1, 2, 3, 100])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_every_item_once(threads, count):
    done = []
    spread(done.append, range(count), threads)
    assert sorted(done) == list(range(count))


def test_several_threads_are_at_work():
    met = threading.Barrier(3, timeout=600)
    spread(lambda item: met.wait(), range(3), 3)


def test_the_first_exception_comes_through():
    def work(item):
        if item == 3:
            raise MemoryError("no memory")

    for threads in (1, 4):
        with pytest.raises(MemoryError, match="no memory"):
            spread(work, range(10), threads)


def test_no_thread_can_be_started(monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    done = []
    spread(done.append, range(5), 4)
    assert done == list(range(5))


def test_a_thread_that_ends_before_it_runs_is_not_waited_for(monkeypatch):
    """As one does that has no memory for its first steps."""
    monkeypatch.setattr(_thread, "start_new_thread", lambda *_: 0)
    done = []
    spread(done.append, range(5), 4)
    assert done == list(range(5))


def test_under_a_limit_of_memory():
    """Threads have stacks, and the first ones of them take what there is."""
    program = """
import resource, sys
from incprof.analysis.thread_pool import spread
mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + (int(sys.argv[1]) << 20),) * 2)
done = []
spread(done.append, range(2000), 200)
assert sorted(done) == list(range(2000))
"""
    for limit in ("4", "20", "100"):
        subprocess.run([sys.executable, "-c", program, limit], check=True, timeout=600)
