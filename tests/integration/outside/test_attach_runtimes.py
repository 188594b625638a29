"""From outside: functions of Python, and names that a program gives to code that it makes."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import pytest

from tests.integration.collector import FIXTURES, Recording
from tests.integration.conftest import Build
from tests.integration.outside.test_attach import (
    FAST,
    TIMEOUT_S,
    most,
    paths_of,
    permitted,
    record,
    start,
    wait_for,
    words,
)
from tests.integration.preload.test_python_programs import DRIVER, PYTHON, driver

__all__ = ["driver", "permitted"]

WAITS = """
import runpy, sys
print("ready", flush=True)
sys.stdin.readline()
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
MADE = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
/* push rbp; mov rbp, rsp; again: dec rdi; jnz again; pop rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};
int main(void) {
    char name[64];
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(at, code, sizeof code);
    snprintf(name, sizeof name, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(name, "w");
    fprintf(map, "%lx %zx made_by_program\n", (unsigned long)at, sizeof code);
    fclose(map);
    while (clock() < CLOCKS_PER_SEC / 4)
        ((void (*)(unsigned long))at)(1000000);
    return 0;
}
"""
REFUSED = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
    struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {4, code};
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        return 125;
    return execv(argv[1], argv + 1);
}
"""


def heavy(directory: Path, part: float) -> set[str]:
    """Functions of the driver that are on so much of its call paths.

    Without its generator, which runs for less than a microsecond at a time: on a busy machine the reader comes later.
    """
    ticks = paths_of(directory)
    names = {name for path in ticks for name in path.split(">") if name.startswith(f"{DRIVER.name}:")}
    names = {name for name in names if "<locals" not in name}
    every = most(ticks, f"{DRIVER.name}:<module>")
    return {n.partition("@")[0] for n in names if sum(c for p, c in ticks.items() if n in p.split(">")) >= part * every}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["attached", pytest.param("started", marks=pytest.mark.slow)])
def test_functions_of_python_equal_those_of_the_collector(how: str, driver: Recording, tmp_path: Path) -> None:
    arguments = [str(DRIVER), str(driver.directory.parent / "libkernel.so"), "0.4", "0.4"]
    if how == "started":
        done = record(tmp_path, *FAST, "--external", "--exe", PYTHON, "-o", "run", "--", PYTHON, *arguments)
        assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    else:
        host = start(tmp_path, [PYTHON, "-c", WAITS, *arguments])
        assert host.stdout is not None
        assert host.stdout.readline() == "ready\n"
        recorder = start(tmp_path, words(*FAST, "-o", "run", "-p", str(host.pid)))
        wait_for(tmp_path / "run", recorder)
        assert host.communicate("go\n", timeout=TIMEOUT_S) == ("done\n", "")
        recorder.communicate(timeout=TIMEOUT_S)
    found = paths_of(tmp_path / "run")
    assert most(found, f"{DRIVER.name}:spend", f"{DRIVER.name}:Solver.step", "kernel") > 100, found.most_common(8)
    attached, preloaded = tmp_path / "run", driver.directory
    assert heavy(attached, 0.2) <= heavy(preloaded, 0.1)
    assert heavy(preloaded, 0.2) <= heavy(attached, 0.1)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code of x86-64")
def test_code_that_a_program_makes_has_its_names(build: Build, tmp_path: Path) -> None:
    source = tmp_path / "made.c"
    source.write_text(MADE)
    program = build(source, pg=False, output="made")
    done = record(tmp_path, *FAST, "--external", "-o", "run", "--", program)
    assert done.returncode == 0, done.stderr
    (kept,) = (tmp_path / "run" / "symbols").glob("perf-*.map")
    Path("/tmp", kept.name).unlink()
    assert most(paths_of(tmp_path / "run"), "main", "made_by_program") > 100


def test_where_memory_must_not_be_read_frames_of_c_are_left(driver: Recording, tmp_path: Path) -> None:
    source, filtered = tmp_path / "refused.c", tmp_path / "refused"
    source.write_text(REFUSED)
    subprocess.run(["gcc", source, "-o", filtered], check=True)
    library = driver.directory.parent / "libkernel.so"
    command = [
        filtered,
        *words(*FAST, "--external", "--exe", PYTHON, "-o", "run", "--", PYTHON, DRIVER, library, "0.1", "0.3"),
    ]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(FIXTURES.parents[2])},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "functions of Python are not recorded, as its memory cannot be read" in done.stderr
    found = paths_of(tmp_path / "run")
    assert not most(found, DRIVER.name)
    assert most(found, "kernel") > 50


MANY_THREADS = """
import threading, time
threading.stack_size(65536)
for _ in range(300):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
def busy():
    until = time.process_time() + 0.5
    while time.process_time() < until:
        sum(range(100))
busy()
"""


@pytest.mark.slow
def test_the_main_thread_is_detected_among_very_many(tmp_path: Path) -> None:
    """Their states are listed with the newest first."""
    (tmp_path / "many.py").write_text(MANY_THREADS)
    done = record(tmp_path, "-r", "200", "--external", "--exe", PYTHON, "-o", "run", "--", PYTHON, "many.py")
    assert done.returncode == 0, done.stderr
    found = paths_of(tmp_path / "run")
    assert most(found, "many.py:busy") > 20, found.most_common(8)
