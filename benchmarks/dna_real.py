"""This machine, or what runs under a script alone, while the script does one thing after the other and logs which."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from incprof.analysis.dna.learn import decoded, learn
from incprof.readers.nodes import read_nodes
from truth.nodes.scores import change_f1

ROUNDS, SECONDS = 2, 25
# Run by this Python: each ends with its parent's order, and none needs more than what is installed.
SUMS = "s = 0\nwhile True:\n for i in range(10**6): s += i * i"
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


def script(folder: Path) -> list[tuple[str, list[str]]]:
    """What is done, in its order: names and commands."""
    (folder / "many.c").write_text(C_FILE)
    (folder / "data").write_bytes(np.random.default_rng(0).integers(0, 40, 1 << 26, dtype=np.uint8).tobytes())
    python = sys.executable
    squeeze = "zstd -q -f -5" if shutil.which("zstd") else "gzip -kf"
    things = [
        ("idle", ["sleep", "1000"]),
        ("compile", ["sh", "-c", f"while :; do gcc -O2 -c {folder}/many.c -o {folder}/many.o; done"]),
        ("compress", ["sh", "-c", f"while :; do {squeeze} {folder}/data; done"]),
        molecules(folder) or ("sums", [python, "-c", SUMS]),
        ("loopback", [python, "-c", SENDS]),
        ("write", [python, "-c", WRITES, str(folder / "written")]),
    ]
    order = np.random.default_rng(1).permutation(ROUNDS * len(things))
    return [things[at % len(things)] for at in order.tolist()]


def act(folder: Path) -> None:
    """Do it, and write the log: when each thing began, and its name."""
    with (folder / "log").open("w") as log:
        for name, command in script(folder):
            log.write(f"{time.time():.3f} {name}\n")
            log.flush()
            process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
            time.sleep(SECONDS)
            subprocess.run(["kill", "--", f"-{process.pid}"], check=False)
            process.wait()
        log.write(f"{time.time():.3f} end\n")


def real(system: bool) -> None:
    """Sample the script and hold the states against its log. system: the whole machine, else what the script runs."""
    from sklearn.metrics import adjusted_rand_score

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        command = [sys.executable, "-m", "incprof", "sample", "-i", "1s", "-o", str(folder / "node.csv")]
        command += ["--system"] if system else ["-e", "all"]
        subprocess.run([*command, "--", sys.executable, "-m", "benchmarks.dna_real", scratch], check=True)
        (series,) = read_nodes([folder / "node.csv"])
        log = [line.split() for line in (folder / "log").read_text().splitlines()]
    begun = np.array([float(at) for at, _ in log])
    names = [name for _, name in log]
    inside = (series.times > begun[0]) & (series.times <= begun[-1])
    true = np.array(
        [sorted(set(names)).index(names[at]) for at in np.searchsorted(begun, series.times - 0.5, "right") - 1]
    )
    alphabet = learn([series], ["script"])
    found = decoded(series, alphabet).labels
    times = series.times[inside]
    changes = [times[np.flatnonzero(np.diff(labels[inside]) != 0) + 1] for labels in (true, found)]
    print(f"{'machine' if system else 'script'}: {inside.sum()} rows, {len(set(true[inside]))} things done twice, "
          f"{len(set(found[inside].tolist()))} states: ARI {adjusted_rand_score(true[inside], found[inside]):.3f}, "
          f"F1 of changes within 2 s {change_f1(*changes):.2f}")  # fmt: skip
    for state in alphabet.states:
        own = true[inside & (found == state.id)]
        what = {sorted(set(names))[each]: int((own == each).sum()) for each in np.unique(own)}
        print(f"  {state.name}: {what}")


if __name__ == "__main__":
    act(Path(sys.argv[1]))
