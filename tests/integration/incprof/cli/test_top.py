"""`incprof top` beside programs that are being recorded, and on terminals."""

import fcntl
import json
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from incprof.model import pooled
from incprof.readers.run import open_run, read_profile
from tests.integration.collector import clean_environment, variables
from tests.paths import ROOT
from tests.unit.streamwriter import Sample, StreamWriter

pytestmark = pytest.mark.slow

PHASES = ROOT / "examples" / "phases.c"
TOP = [sys.executable, "-m", "incprof", "top"]
ENTER, LEAVE, CURSOR = b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?25h"


def recorded(program, directory, *words, interval=0.1, **more):
    environment = {**clean_environment(), **variables(directory, interval=interval), **more}
    return subprocess.Popen([str(program), *words], env=environment, stdout=subprocess.DEVNULL)


def test_beside_a_recording_it_sees_what_a_reader_sees_afterwards(build, tmp_path):
    program, directory = build(PHASES), tmp_path / "run"
    watch = subprocess.Popen([*TOP, directory, "--json", "--every", "0.1"], stdout=subprocess.PIPE, text=True)
    with recorded(program, directory, "0.15") as job, watch:
        looks = [json.loads(line) for line in watch.stdout]
        assert job.wait() == 0
    assert watch.returncode == 0
    # On a busy machine it may come late: to look only once is no fault.
    elapsed = [look["processes"][0]["elapsed_s"] for look in looks]
    assert elapsed == sorted(elapsed)
    profile = read_profile(open_run(directory), libs="named", inlined=True)
    last = looks[-1]
    process = last["processes"][0]
    # Where the machine left few samples to an interval, several are taken as one.
    intervals = pooled(profile, process["pooled"]).n_intervals
    assert (process["intervals"], process["samples"]) == (intervals, int(profile.counters.samples.sum()))
    assert process["elapsed_s"] == float(profile.end_s[-1])
    assert last["ended"]
    assert not last["killed"]
    assert last["fitted"] == intervals
    self_s = profile.self_s.sum(axis=0)
    shares = {f.name: float(s) / self_s.sum() for f, s in zip(profile.functions, self_s, strict=True)}
    assert {f["name"]: f["run_share"] for f in last["functions"]} == pytest.approx(
        {name: share for name, share in shares.items() if share}
    )


def test_a_killed_job_ends_it(build, tmp_path):
    program, directory = build(PHASES), tmp_path / "run"
    with recorded(program, directory, "1000") as job:  # longer than it takes to look
        watch = subprocess.Popen([*TOP, directory, "--json", "--every", "0.1"], stdout=subprocess.PIPE, text=True)
        assert json.loads(watch.stdout.readline())["ended"] is False
        job.kill()
    with watch:
        *_, last = map(json.loads, watch.stdout)
    assert (last["ended"], last["killed"], watch.returncode) == (True, True, 0)


def test_a_killed_child_is_not_the_job(build, tmp_path):
    source = tmp_path / "forks.c"
    source.write_text(
        """
        #include <glob.h>
        #include <signal.h>
        #include <sys/wait.h>
        #include <time.h>
        #include <unistd.h>
        /* Until there are two files, which takes a moment, and for so long. */
        static void work(const char *files, double seconds)
        {
            glob_t found = {0};
            clock_t end = clock() + 60 * CLOCKS_PER_SEC;
            while (clock() < end && (glob(files, 0, 0, &found) != 0 || found.gl_pathc < 2))
                globfree(&found);
            end = clock() + seconds * CLOCKS_PER_SEC;
            while (clock() < end)
                ;
        }
        int main(int count, char **words)
        {
            if (fork() == 0) {
                work(words[1], 0.1);
                raise(SIGKILL);
            }
            work(words[1], 0.3);
            wait(0);
            return 0;
        }
        """
    )
    program, directory = build(source), tmp_path / "run"
    with recorded(program, directory, f"{directory}/*.gmon") as job:
        assert job.wait() == 0
    watch = subprocess.run([*TOP, directory, "--json", "--every", "0.1"], capture_output=True, text=True, check=True)
    last = json.loads(watch.stdout.splitlines()[-1])
    assert (last["ended"], last["killed"]) == (True, False)
    assert {each["primary"]: each["killed"] for each in last["processes"]} == {True: False, False: True}


def test_heartbeats_beside_the_run_are_found(build, ekg, tmp_path):
    source = tmp_path / "beating.c"
    source.write_text(
        """
        #include <appekg.h>
        __attribute__((noinline)) static double work(int n) {
            volatile double sum = 0;
            for (int i = 1; i < n; i++) sum += 1.0 / i;
            return sum;
        }
        int main(void) {
            double sum = 0;
            ekg_init(0);
            ekg_name(3, "work:body");
            for (int i = 0; i < 1500; i++) {
                ekg_begin(3);
                sum += work(200000);
                ekg_end(3);
            }
            ekg_finalize();
            return sum < 0;
        }
        """
    )
    program = ekg.program(source, own_flags="-pg", output="beating")
    directory = tmp_path / "run"
    more = {"EKG_DIR": str(tmp_path / "ekg-beating"), "EKG_INTERVAL": "0.1"}
    with recorded(program, directory, **more) as job:
        watch = subprocess.Popen([*TOP, directory, "--json", "--every", "0.2"], stdout=subprocess.PIPE, text=True)
        with watch:
            looks = [json.loads(line) for line in watch.stdout]
        assert job.wait() == 0
    beats = [look["heartbeats"] for look in looks]
    [beat] = beats[-1]
    assert (beat["id"], beat["name"]) == (3, "work:body")
    assert beat["count"] == 1500
    assert 0 < beat["busy_pct"] <= 101
    assert beat["mean_s"] > 0
    # As many as there were in whole intervals, at every look.
    counts = [found[0]["count"] for found in beats if found]
    assert counts == sorted(counts)


class Terminal:
    """`incprof top`, or another command, with a terminal of its own."""

    def __init__(self, *words, command=TOP, rows=24, columns=80, **more):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.shown = b""
        environment = {**clean_environment(), "TERM": "xterm-256color"}
        environment.pop("NO_COLOR", None)
        environment.update(more)
        self.process = subprocess.Popen(
            [*command, *map(str, words)], stdin=self.slave, stdout=self.slave, stderr=self.slave, env=environment,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, wanted, seconds=600.0):
        """Read until something is shown that was not yet."""
        begin, end = len(self.shown), time.monotonic() + seconds
        while not re.search(wanted, self.shown[begin:]):
            assert time.monotonic() < end, self.shown[begin:]
            self._read(0.2)

    def left(self):
        """Its exit status; it must have given the terminal back."""
        end = time.monotonic() + 600
        while self.process.poll() is None:
            assert time.monotonic() < end
            self._read(0.1)
        while self._read(0.0):
            pass
        after = termios.tcgetattr(self.slave)
        os.close(self.master)
        os.close(self.slave)
        assert after == self.before
        assert self.shown.count(ENTER) == self.shown.count(LEAVE) == 1
        assert self.shown.index(ENTER) < self.shown.index(LEAVE)
        assert self.shown.rindex(CURSOR) > self.shown.index(ENTER)
        assert b"Traceback" not in self.shown
        return self.process.returncode

    def _read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        self.shown += os.read(self.master, 1 << 16)
        return True


@pytest.fixture
def running(tmp_path):
    """A run directory of a job on another machine, which goes on."""
    writer = StreamWriter(host="elsewhere")
    for i in range(30):
        writer.interval([Sample("main;solve" if i < 15 else "main;io", weight=90), Sample("main", weight=3)])
    return writer.save(tmp_path / "run")


@pytest.mark.parametrize(
    ("how", "status"),
    [("q", 0), ("ctrl-c", 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
)
def test_the_screen_is_restored(running, how, status):
    terminal = Terminal(running, "--every", "0.1")
    terminal.until(rb"Self time by function")
    if isinstance(how, str):
        os.write(terminal.master, b"q" if how == "q" else b"\x03")
    else:
        terminal.process.send_signal(how)
    assert terminal.left() == status


def test_ctrl_z_gives_the_screen_back_until_it_goes_on(running):
    """As in an editor: the shell's screen, then the view's again, and keys are still read one by one."""
    shell = Terminal("--norc", "-i", command=["bash"], PS1="ready ")
    shell.until(rb"ready ")
    os.write(shell.master, shlex.join([*map(str, TOP), str(running), "--every", "0.1"]).encode() + b"\n")
    shell.until(rb"Self time by function")
    os.write(shell.master, b"\x1a")
    shell.until(rb"Stopped(?s:.*)ready ")
    before, after = shell.shown.split(b"Stopped")
    assert before.rindex(LEAVE) > before.rindex(CURSOR) > before.rindex(ENTER)
    assert ENTER not in after
    os.write(shell.master, b"fg\n")
    shell.until(ENTER.replace(b"[", rb"\[").replace(b"?", rb"\?") + rb"(?s:.*)Self time by function")
    os.write(shell.master, b"q")
    shell.until(rb"\x1b\[\?1049l(?s:.*)ready ")
    os.write(shell.master, b"exit\n")
    shell.process.wait(timeout=600)
    os.close(shell.master)
    os.close(shell.slave)


def test_the_screen_is_restored_when_the_job_ends(running):
    terminal = Terminal(running)
    terminal.until(rb"Self time by function")
    with (running / "rank-00000.gmon").open("ab") as raw:
        raw.write(b"gmon\x01\0\0\0\x08\0\0\0\x02\0\0\0\x1e\0\0\0{}")
    assert terminal.left() == 0
    after = terminal.shown[terminal.shown.index(LEAVE) :].decode()
    assert "the job has ended: incprof phases" in after
    assert "ended" in after.splitlines()[0]


def test_the_screen_is_restored_when_it_fails(tmp_path):
    terminal = Terminal(tmp_path / "run", "--every", "0.05")
    terminal.until(rb"waiting for")
    (tmp_path / "run").write_text("a file now")
    assert terminal.left() == 4
    assert b"incprof: " in terminal.shown[terminal.shown.index(LEAVE) :]


def test_a_new_size_is_drawn_at_once(running):
    # A size in the environment is that of the shell's screen when it was exported.
    terminal = Terminal(running, "--every", "3600", COLUMNS="80", LINES="24")
    terminal.until(rb"Self time by function")
    terminal.resize(60, 200)
    terminal.process.send_signal(signal.SIGWINCH)
    # Until phases are known, the ribbon is a line of question marks.
    terminal.until(rb"[?01]{90,}|(?s:0{60,}.{0,40}1{60,})|[?]{200}")
    os.write(terminal.master, b"q")
    assert terminal.left() == 0


@pytest.mark.parametrize("plain", [False, True])
def test_colours_are_used_unless_they_are_not_wanted(running, plain):
    terminal = Terminal(running, **({"NO_COLOR": "1"} if plain else {}))
    terminal.until(rb"Self time by function")
    terminal.until(rb"Main site")
    os.write(terminal.master, b"q")
    assert terminal.left() == 0
    assert (b"48;5;" not in terminal.shown) == plain
