"""What an installation weighs, and what each verb imports.

python -m benchmarks.light [--wheel FILE] [--extras plot parquet dask mpi]

The wheel (by default one of this checkout) is installed into a fresh environment; sizes are of what that adds to it,
with what Python compiles of it. Modules are asked for with -X importtime, about a drawn run of a minute.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.bed import HERE
from benchmarks.measure import Command, run
from benchmarks.report import write_run

VERBS = {
    "--version": ["--version"],
    "--help": ["--help"],
    "record": ["record", "--log", "quiet", "-o", "NEW", "--", "true"],
    "phases": ["phases", "RUN"],
    "phases --method paper": ["phases", "RUN", "--method", "paper"],
    "sites": ["sites", "RUN"],
    "report": ["report", "RUN", "-o", "NEW.html"],
    "diff": ["diff", "RUN", "RUN"],
    "export --format csv": ["export", "RUN", "--format", "csv", "-o", "NEW.csv"],
}
HEAVY = (
    "numpy",
    "scipy",
    "pandas",
    "sklearn",
    "kneed",
    "jinja2",
    "rich",
    "tree_sitter",
    "elftools",
    "matplotlib",
    "pyarrow",
    "distributed",
    "mpi4py",
)
ABSENT = {
    "plot": ["phases", "RUN", "--plot", "NEW.png"],
    "parquet": ["export", "RUN", "--format", "parquet", "-o", "NEW"],
}
RUNS = 15
IMPORTED = re.compile(r"^import time: +\d+ \| +(\d+) \| ( *)([\w.]+)$", re.MULTILINE)


def installed(venv: Path) -> dict[str, float]:
    """MB of each package in an environment, pip's own left out."""
    site = next(venv.glob("lib/python*/site-packages"))
    sizes: dict[str, float] = {}
    for entry in site.iterdir():
        name = re.sub(r"(-[\d.]+.*|\.libs|\.py|\.so.*|\.cpython.*)$", "", entry.name)
        if name not in ("pip", "setuptools", "_distutils_hack", "distutils-precedence.pth", "__pycache__"):
            files = [entry] if entry.is_file() else [p for p in entry.rglob("*") if p.is_file() and not p.is_symlink()]
            sizes[name] = sizes.get(name, 0.0) + sum(path.stat().st_size for path in files) / 1e6
    return sizes


def told(sizes: dict[str, float]) -> str:
    """The sum, and the largest ones."""
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:7]
    return f"{sum(sizes.values()):.0f} MB: " + ", ".join(f"{name} {size:.0f}" for name, size in largest)


def imports(python: Path, words: Sequence[str], cwd: Path) -> str:
    """Modules of a command, and what of the large packages is among them with its milliseconds."""
    command = [
        str(python),
        "-X",
        "importtime",
        "-c",
        "import sys; from incprof.cli import main; sys.exit(main())",
        *words,
    ]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    rows = [(int(took), name) for took, _, name in IMPORTED.findall(done.stderr)]
    heavy = {name: took / 1000 for took, name in rows if name in HEAVY}
    return f"{len(rows)} modules; " + (
        ", ".join(f"{name} {took:.0f} ms" for name, took in heavy.items()) or "none of them"
    )


def took(command: Command, cwd: Path) -> str:
    """Median and range of milliseconds of CPU time, and the median of those on the clock."""
    used = [run(command, cwd) for _ in range(RUNS + 1)][1:]
    cpu = [1000 * usage.cpu_s for usage in used]
    elapsed = 1000 * statistics.median(usage.elapsed_s for usage in used)
    spread = f"{min(cpu):.0f}-{max(cpu):.0f}, {RUNS} runs"
    return f"{statistics.median(cpu):.0f} ms of CPU time ({spread}), {elapsed:.0f} ms elapsed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--extras", nargs="*", default=["plot", "parquet", "dask"])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
        if args.wheel is None:
            subprocess.run([*pip, "wheel", "--no-deps", "-w", scratch, HERE.parent], check=True)
        wheel = (args.wheel or next(scratch.glob("*.whl"))).resolve()
        venv = scratch / "venv"
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        into = [venv / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "-q", "install"]
        subprocess.run([*into, wheel], check=True)
        print(f"wheel: {wheel.stat().st_size / 1e6:.1f} MB")
        before = installed(venv)
        print(f"core: {told(before)}")
        write_run(scratch / "run", 60)

        def filled(words: Sequence[str]) -> list[str]:
            return [
                word.replace("RUN", str(scratch / "run")).replace("NEW", f"new{time.monotonic_ns()}") for word in words
            ]

        incprof = venv / "bin" / "incprof"
        print(f"incprof --version: {took([incprof, '--version'], scratch)}; load {os.getloadavg()[0]:.1f}")
        print(f"Python that does nothing: {took([venv / 'bin' / 'python', '-c', ''], scratch)}")
        for name, words in VERBS.items():
            print(f"{name}: {imports(venv / 'bin' / 'python', filled(words), scratch)}")
        for extra, words in ABSENT.items():
            done = subprocess.run([incprof, *filled(words)], cwd=scratch, capture_output=True, text=True, check=False)
            print(f"without {extra}, exit {done.returncode}: {done.stderr.strip()}")
        for extra in args.extras:
            subprocess.run([*into, f"{wheel}[{extra}]"], check=True)
            after = installed(venv)
            print(f"{extra} adds {told({name: size - before.get(name, 0.0) for name, size in after.items()})}")
            before = after


if __name__ == "__main__":
    main()
