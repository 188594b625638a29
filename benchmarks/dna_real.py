"""This machine, or what runs under a script alone, while the script does one thing after the other and logs which."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from incprof.analysis.dna.learn import decoded, learn
from incprof.model import BoolArray, NodeSeries
from incprof.readers.nodes import read_nodes
from truth.nodes.scores import change_f1

# A day: each thing so many times, for so many seconds.
DAYS = {"long": (2, 25.0, 25.0), "short": (3, 8.0, 15.0)}
# Run by this Python: each ends with its parent's order, and none needs more than what is installed.
SUMS = "s = 0\nwhile True:\n for i in range(10**6): s += i * i"
STREAMS = (
    "import numpy as np\na = np.ones(1 << 25)\nb = np.ones(1 << 25)\n"
    "while True:\n np.add(a, 3.0, out=b)\n np.add(b, 3.0, out=a)"
)
WRITES = (
    "import os, sys\np = sys.argv[1]\nb = os.urandom(1 << 22)\n"
    "while True:\n f = os.open(p, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)\n"
    " for _ in range(64): os.write(f, b); os.fsync(f)\n os.close(f)"
)
SENDS = (
    "import socket, threading\na = socket.create_server(('127.0.0.1', 0))\n"
    "def take():\n c, _ = a.accept()\n while c.recv(1 << 20): pass\n"
    "threading.Thread(target=take, daemon=True).start()\n"
    "c = socket.create_connection(a.getsockname())\nb = bytes(1 << 20)\nwhile True: c.sendall(b)"
)
C_FILE = "#include <stdio.h>\n" + "\n".join(
    f'int f{i}(int x) {{ int s = 0; for (int i = 0; i < x; i++) s += i * {i} ^ x; printf("%d", s); return s; }}'
    for i in range(400)
)


def molecules(folder: Path) -> tuple[str, list[str]] | None:
    """The LAMMPS of benchmarks/realworld/lammps.sh, again and again; None where it has not been built."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "incprof-realworld"
    place = Path(os.environ.get("INCPROF_SCRATCH", cache)) / "lammps"
    program, given = place / "build" / "lmp_serial", place / "in.melt"
    if not (program.exists() and given.exists()):
        return None
    return "lammps", ["sh", "-c", f"cd {folder}; while :; do {program} -log none -in {given}; rm -f gmon.out; done"]


def script(folder: Path, day: str, seed: int) -> list[tuple[str, list[str], float]]:
    """What is done, in its order: names, commands, and seconds. No thing follows itself."""
    python, rng = sys.executable, np.random.default_rng(seed)
    things = long_things(folder) if day == "long" else [
        ("idle", ["sleep", "1000"]), ("sums", [python, "-c", SUMS]), ("streams", [python, "-c", STREAMS]),
        ("write", [python, "-c", WRITES, str(folder / "written")]), ("loopback", [python, "-c", SENDS]),
    ]  # fmt: skip
    rounds, shortest, longest = DAYS[day]
    order: list[int] = []
    while len(order) < rounds * len(things):
        turn = rng.permutation(len(things)).tolist()
        if not order or order[-1] != turn[0]:
            order += turn
    return [(*things[at], float(rng.uniform(shortest, longest))) for at in order]


def long_things(folder: Path) -> list[tuple[str, list[str]]]:
    """Programs of the real world, with their inputs."""
    (folder / "many.c").write_text(C_FILE)
    (folder / "data").write_bytes(np.random.default_rng(0).integers(0, 40, 1 << 26, dtype=np.uint8).tobytes())
    python = sys.executable
    squeeze = "zstd -q -f -5" if shutil.which("zstd") else "gzip -kf"
    return [
        ("idle", ["sleep", "1000"]),
        ("compile", ["sh", "-c", f"while :; do gcc -O2 -c {folder}/many.c -o {folder}/many.o; done"]),
        ("compress", ["sh", "-c", f"while :; do {squeeze} {folder}/data; done"]),
        molecules(folder) or ("sums", [python, "-c", SUMS]),
        ("loopback", [python, "-c", SENDS]),
        ("write", [python, "-c", WRITES, str(folder / "written")]),
    ]


def act(folder: Path, day: str, seed: int) -> None:
    """Do it, and write the log: when each thing began, and its name."""
    with (folder / "log").open("w") as log:
        for name, command, seconds in script(folder, day, seed):
            log.write(f"{time.time():.3f} {name}\n")
            log.flush()
            process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
            time.sleep(seconds)
            subprocess.run(["kill", "--", f"-{process.pid}"], check=False)
            process.wait()
        log.write(f"{time.time():.3f} end\n")


def record(folder: Path, day: str, seed: int) -> None:
    """Sample the script by itself and the whole machine at once, into script.csv and machine.csv."""
    sample = [sys.executable, "-m", "incprof", "sample", "-i", "1s"]
    own = [*sample, "-e", "all", "-o", str(folder / "script.csv"), "--", sys.executable, "-m", "benchmarks.dna_real"]
    whole = [*sample, "--system", "-o", str(folder / "machine.csv")]
    subprocess.run([*whole, "--", *own, str(folder), "--day", day, "--seed", str(seed)], check=True)
    (folder / "written").unlink(missing_ok=True)


def real(day: str, seed: int, keep: Path | None = None) -> None:
    """Record a day, and hold the states of the script and of the machine against its log. keep: where it goes."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"load {os.getloadavg()[0]:.1f} before", end=", ")
        record(folder, day, seed)
        print(f"{os.getloadavg()[0]:.1f} after")
        for what in ("script", "machine"):
            compare(folder, what)


def truth_of(folder: Path, series: NodeSeries) -> tuple[BoolArray, npt.NDArray[np.str_]]:
    """Return which rows (rows,) lie within the log of a recording, and what was done in the middle of each, (rows,)."""
    log = [line.split() for line in (folder / "log").read_text().splitlines()]
    begun = np.array([float(at) for at, _ in log])
    middle = series.times - series.period_s / 2
    place = np.clip(np.searchsorted(begun, middle, side="right") - 1, 0, len(log) - 2)
    return (middle >= begun[0]) & (middle < begun[-1]), np.array([name for _, name in log])[place]


def compare(folder: Path, what: str) -> float:
    """Hold the states of a recording against the log beside it: return the adjusted Rand index, and print more."""
    from sklearn.metrics import adjusted_rand_score

    (series,) = read_nodes([folder / f"{what}.csv"])
    inside, done = truth_of(folder, series)
    alphabet = learn([series], ["script"])
    labels = decoded(series, alphabet).labels
    true, found, times = done[inside], labels[inside], series.times[inside]
    changes = [times[np.flatnonzero(each[1:] != each[:-1]) + 1] for each in (true, found)]
    agreement = float(adjusted_rand_score(true, found))
    print(f"{what}: {inside.sum()} rows, {len(set(true))} things, {len(set(found.tolist()))} states: "
          f"ARI {agreement:.2f}, F1 of changes within 2 s {change_f1(*changes):.2f}")  # fmt: skip
    for state in alphabet.states:
        own = true[found == state.id]
        print(f"  {state.name}: { ({str(each): int((own == each).sum()) for each in np.unique(own)}) }")
    return agreement


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dna_real", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--day", choices=DAYS, default="long")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    act(args.folder, args.day, args.seed)
