"""Random launches: chains of programs that start others, around programs that use CPU time and end in every way."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

HOSTS = Path(__file__).parent / "hosts" / "jobs"
# Those of another user's are set-uid to it, where root starts them.
NOBODY = 65534
ENDS = ("exit", "threads", "_exit", "quick", "abort", "term", "kill")
# What becomes a program, or runs one and waits for it; and what it needs.
PREFIXES: tuple[tuple[str, ...], ...] = (
    ("setarch", "-R"), ("ionice", "-c3"), ("prlimit", "--nofile=500"), ("setpriv", "--no-new-privs"),
    ("nice", "-n1"), ("timeout", "-k", "1", "500"), ("setsid", "-w"), ("env", "A=b"), ("stdbuf", "-oL"),
    ("chrt", "-o", "0"), ("taskset", "-c", "0"), ("hwloc-bind", "--"), ("bwrap", "--dev-bind", "/", "/"),
    ("bwrap", "--dev-bind", "/", "/", "--unshare-all", "--proc", "/proc"), ("unshare", "-U"), ("unshare", "-Ur"),
    ("unshare", "-Urpf", "--mount-proc"), ("unshare", "-Urn"),
)  # fmt: skip
HIDING = ("env", "-i")
MPI = {"openmpi": ("--oversubscribe", "--allow-run-as-root", "-q"), "mpich": ()}
PYTHON = """
import multiprocessing, os, subprocess, sys

def work(words):
    return subprocess.run(words).returncode

def spin(count):
    return sum(i * i for i in range(count))

if __name__ == "__main__":
    how, words = sys.argv[1], sys.argv[2:]
    spin(400_000)
    if how == "subprocess":
        subprocess.run(words)
    elif how == "fork":
        child = os.fork()
        if child == 0:
            os.execv(words[0], words)
        os.waitpid(child, 0)
    else:
        with multiprocessing.get_context(how).Pool(2) as pool:
            pool.map(spin, [300_000] * 12, chunksize=1)
            pool.map(work, [words] * 2, chunksize=1)
"""


@dataclass(frozen=True)
class Bench:
    """The parts of launches: a program, programs into which no library can be preloaded, and a Python script."""

    program: str
    static: str
    setuid: str
    script: str

    @classmethod
    def make(cls, place: Path) -> Bench:
        """Build all parts in a folder."""
        words = ["gcc", "-O1", "-g", str(HOSTS / "burn.c"), "-pthread", "-o"]
        subprocess.run([*words, place / "burn"], check=True)
        subprocess.run([*words, place / "burn-static", "-static"], check=True)
        shutil.copy(place / "burn", place / "burn-setuid")
        if os.geteuid() == 0:
            os.chown(place / "burn-setuid", NOBODY, NOBODY)
            (place / "burn-setuid").chmod(0o4755)
        (place / "pool.py").write_text(PYTHON)
        return cls(*(str(place / name) for name in ("burn", "burn-static", "burn-setuid", "pool.py")))


class Launch:
    """Generator of launches. kinds: the kinds of its parts."""

    def __init__(self, dice: Random, bench: Bench):
        self.dice, self.bench, self.kinds = dice, bench, set[str]()

    def draw(self) -> list[str]:
        """Return the command line of a launch."""
        return self._started(self.dice.randint(1, 3))

    def _milliseconds(self) -> str:
        return str(self.dice.choice((30, 100, 300, 600)))

    def _program(self) -> list[str]:
        """Return a program that does its work itself."""
        kind = self.dice.choices(("program", "static", "setuid", "hidden"), (12, 1, 1, 1))[0]
        self.kinds.add(kind)
        path = {"static": self.bench.static, "setuid": self.bench.setuid}.get(kind, self.bench.program)
        words = [path, self._milliseconds(), self.dice.choice(ENDS)]
        return [*HIDING, *words] if kind == "hidden" else words

    def _started(self, depth: int) -> list[str]:
        """Return a program, wrapped in that many programs that start it."""
        if depth == 0:
            return self._program()
        kinds: tuple[Callable[[int], list[str]], ...] = (
            self._prefixed, self._prefixed, self._script, self._shell_of_several, self._pipeline, self._many_short,
            self._xargs, self._python, self._make, self._ranks, self._exec, self._loaded,
        )  # fmt: skip
        kind = self.dice.choice(kinds)
        self.kinds.add(kind.__name__.strip("_"))
        return kind(depth - 1)

    def _prefixed(self, depth: int) -> list[str]:
        prefix = self.dice.choice([words for words in PREFIXES if shutil.which(words[0])])
        self.kinds.add(prefix[0])
        return [*prefix, *self._started(depth)]

    def _text(self, depth: int) -> str:
        return shlex.join(self._started(depth))

    def _script(self, depth: int) -> list[str]:
        return [self.dice.choice(("sh", "bash")), "-c", f"{self._text(depth)}; exit 5"]

    def _shell_of_several(self, depth: int) -> list[str]:
        texts = [self._text(depth if number == 0 else 0) for number in range(self.dice.randint(2, 4))]
        return ["sh", "-c", self.dice.choice(("; ", " & ")).join(texts) + "; wait"]

    def _pipeline(self, depth: int) -> list[str]:
        return ["bash", "-c", f"seq 1 200000 | sort -r | {self._text(depth)} | wc -l"]

    def _many_short(self, depth: int) -> list[str]:
        count = self.dice.choice((100, 1000))
        return ["sh", "-c", f"for i in $(seq {count}); do /bin/true; done; {self._text(depth)}"]

    def _xargs(self, depth: int) -> list[str]:
        del depth
        return ["sh", "-c", f"seq 4 | xargs -P 3 -I N {self.bench.program} {self._milliseconds()} exit"]

    def _python(self, depth: int) -> list[str]:
        how = self.dice.choice(("subprocess", "fork", "fork", "spawn", "forkserver"))
        self.kinds.add(how)
        text = self._text(depth)
        return [sys.executable, self.bench.script, how, "/bin/sh", "-c", text]

    def _make(self, depth: int) -> list[str]:
        lines = [self._text(depth if number == 0 else 0).replace("$", "$$") for number in range(3)]
        rules = "".join(f"t{number}:; -{line}\n" for number, line in enumerate(lines))
        return ["sh", "-c", f"printf %s {shlex.quote('all: t0 t1 t2' + chr(10) + rules)} | make -s -j2 -f -"]

    def _ranks(self, depth: int) -> list[str]:
        del depth
        mpi = self.dice.choice([name for name in MPI if shutil.which(f"mpirun.{name}")] or ["none"])
        if mpi == "none":
            return self._program()
        self.kinds.add(mpi)
        parts = [["-n", str(self.dice.randint(1, 2)), self.bench.program, self._milliseconds(), "exit"] for _ in "ab"]
        return [f"mpirun.{mpi}", *MPI[mpi], *parts[0], ":", *parts[1]]

    def _exec(self, depth: int) -> list[str]:
        end = self.dice.choice(("exec", "daemon", "stop"))
        self.kinds.add(end)
        # What outlives the command is recorded, but how much of it is not is unknown.
        words = [self.bench.program, self._milliseconds(), "exit"]
        if end != "daemon":
            words = ["/bin/sh", "-c", self._text(depth)]
        return [self.bench.program, self._milliseconds(), end, *words]

    def _loaded(self, depth: int) -> list[str]:
        del depth
        loader = next(
            (path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(path)), ""
        )
        return [*([loader] if loader else []), self.bench.program, self._milliseconds(), self.dice.choice(ENDS)]
