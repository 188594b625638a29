"""A vfork child runs in its parent's memory: whatever it calls, the parent is as it would be without us."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from incprof.record.launch import find_library
from tests.integration.collector import clean_environment
from tests.integration.command_line import incprof
from tests.integration.hosts import BuildHost, calls, ended_cleanly, ticks, try_both

FLAGS = "-Wno-deprecated-declarations"
# The functions that the library replaces, and the exit that runs the parent's handlers from any caller.
# The latter two have tests of their own (test_extension.py).
NOT_CALLED = {
    "__fentry__", "__monstartup", "_mcleanup", "_mcount", "mcount", "monstartup", "exit",
    "incprof_extension_add", "incprof_extension_event", "incprof_extension_thinning",
}  # fmt: skip

RESETS_HANDLERS = """
import os, signal, subprocess
seen = []
signal.signal(signal.SIGURG, lambda number, frame: seen.append(number))
os.kill(os.getpid(), signal.SIGURG)
subprocess.run(["/bin/true"], check=True)
os.kill(os.getpid(), signal.SIGURG)
print(len(seen), signal.getsignal(signal.SIGURG) is not signal.SIG_DFL)
"""


@pytest.mark.parametrize("state", ["left", "handled", "ignored", "blocked"])
def test_nothing_that_a_vfork_child_calls_changes_its_parent(host: BuildHost, tmp_path: Path, state: str) -> None:
    """SIGURG, which ticks come by, is left alone, handled, ignored or blocked by the parent."""
    plain = host("vforks.c", flags=FLAGS, pg=False, output="vforks-plain")
    command = [host("vforks.c", flags=FLAGS), f"-{state}"]
    trial = try_both(command, tmp_path, reference=[plain, f"-{state}"])
    assert "\nexecv " in trial.recorded.stdout
    assert trial.files() == ["rank-00000.gmon"]
    assert ended_cleanly(trial.directory / "rank-00000.gmon")
    assert calls(trial.profile())["tick"] == 1010
    assert ticks(trial.profile()) >= 5


def test_a_vfork_child_calls_all_that_the_library_puts_itself_in_front_of(host: BuildHost) -> None:
    words = ["nm", "-D", "--defined-only", str(find_library(os.environ))]
    exported = {line.split()[-1] for line in subprocess.check_output(words, text=True).splitlines()}
    plain = host("vforks.c", flags=FLAGS, pg=False, output="vforks-plain")
    known = subprocess.check_output([plain], text=True, env=clean_environment()).split()
    assert exported - NOT_CALLED <= set(known)


def test_python_starts_programs_and_keeps_its_handler(tmp_path: Path) -> None:
    """Its subprocess resets handlers in a vfork child."""
    done = incprof("record", "-o", tmp_path / "run", "--", sys.executable, "-c", RESETS_HANDLERS)
    assert (done.returncode, done.stdout) == (0, "2 True\n"), done.stderr
