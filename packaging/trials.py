"""`make release-trials`: what `make release` has built, tried in roots of Debian and Ubuntu that mmdebstrap makes.

    focal              the C parts, with its own GCC 8 and CMake; only where the keys of Ubuntu are
    bullseye           the collector's tarball, and the C parts with its own compilers; the recordings go to the others
    bookworm, trixie   without a compiler: the wheel by pip, pipx and uv, and Debian's packages
    --suite            instead: the tests, with README's packages in both, then with those of .ci/run

Prints the seconds of each way. Whatever fails ends it, and names the log.

usage: python packaging/trials.py [--suite] [--out DIR] [ROOT ...]
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import debian_root

ROOT = Path(__file__).resolve().parent.parent
README_PACKAGES = ("gcc", "libc6-dev", "make", "binutils", "python3", "python3-venv")
WITH_COMPILER = ("gcc", "libc6-dev", "make", "cmake", "binutils")
WITH_PYTHON = ("bookworm", "trixie")  # 3.11 or later
WITHOUT_COMPILER = ("python3", "python3-venv", "pipx")

# The C parts by each of COMPILERS without a warning, and what they record.
COMPILED = """
mkdir sources && tar xzf incprof-[0-9]*.tar.gz -C sources --strip-components 1
for compiler in COMPILERS; do
    apt-get install -qq -y --no-install-recommends $compiler >/dev/null
    cmake -S sources -B $compiler -DCMAKE_C_COMPILER=$compiler -DCMAKE_C_FLAGS=-Werror >/dev/null
    cmake --build $compiler >/dev/null
    INCPROF_INTERVAL=0.25 INCPROF_DIR=/stage/out/run-$compiler LD_PRELOAD=/stage/$compiler/preload/libincprof.so \\
        out/phases 0.3
    test -s out/run-$compiler/rank-00000.gmon
done
"""

FOCAL = """set -e
gcc -O2 -g -pg phases.c -o out/phases
""" + COMPILED.replace("COMPILERS", "gcc-8 gcc-9")

# A program that is built with -pg and one that is not, for older and newer roots alike.
BULLSEYE = """set -e
gcc -O2 -g -pg phases.c -o out/phases
gcc -O2 -g phases.c -o out/phases-without-pg
mkdir place && tar xzf incprof-collector-*.tar.gz -C place
for program in phases phases-without-pg; do
    place/*/bin/incprof-record -i 250ms -o out/run-$program --exe $program -- out/$program 0.3 >with
    out/$program 0.3 >without
    cmp with without
    test -s out/run-$program/rank-00000.gmon
done
""" + COMPILED.replace("COMPILERS", "gcc-10 gcc-9 clang-11 clang-13")

# Each way twice: the second time from what the package manager has kept.
WHEEL = """set -e
seconds() {
    began=$(date +%s%N)
    "$@" >output 2>&1 || { cat output >&2; exit 1; }
    ended=$(date +%s%N)
    times >cpu  # of this shell, a line, and of what it has run, such as 0m1.520s 0m0.210s
    awk -F '[ms ]+' -v wall=$((ended - began)) \\
        'NR == 2 { printf "%.2f s (CPU %.2f)", wall / 1e9, 60 * ($1 + $3) + $2 + $4 }' cpu
}
record() {
    $1 record -i 250ms -o run-$2-$3 -- out-of-bullseye/$3 0.3 && $1 phases run-$2-$3 && $1 report run-$2-$3 -o page.html
    test -s page.html
}
tried() {
    first=$(seconds $3) again=$(seconds $3)
    version=$(seconds $1 --version) version_again=$(seconds $1 --version)
    record=$(seconds record $1 $2 phases) without=$(seconds record $1 $2 phases-without-pg)
    echo "$2: installed in $first, again $again; --version $version, again $version_again;" \\
        "recorded $record, without -pg $without; load $(cut -d ' ' -f 1 /proc/loadavg)" | tee -a out/seconds
}
by_pip() { rm -rf by-pip && python3 -m venv by-pip && by-pip/bin/pip install -q ./*.whl; }
by_pipx() { pipx install --force ./*.whl; }
by_uv() { tools/bin/uv tool install --force ./*.whl; }
by_apt() {
    apt-get install -q -y --no-install-recommends --reinstall \\
        ./incprof_*.deb ./incprof-collector_*.deb ./libappekg1_*.deb
}
python3 -m venv tools && tools/bin/pip install -q uv
tried by-pip/bin/incprof pip by_pip
tried /root/.local/bin/incprof pipx by_pipx
pipx uninstall incprof
tried /root/.local/bin/incprof uv by_uv
tools/bin/uv tool uninstall incprof
apt-get update -q
tried /usr/bin/incprof apt by_apt
for run in out-of-bullseye/run-*; do
    by-pip/bin/incprof phases $run | sed -n "1,2s|^|$run: |p" | tee -a out/answers
done
"""

SUITE = """set -e
mkdir clone && tar xf clone.tar -C clone
cd clone
make all
make test PYTEST_ARGS=-rs
"""


def staged(place: Path, name: str, files: list[Path]) -> Path:
    """A directory with what the root is given."""
    stage = place / name
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir(parents=True)
    for file in files:
        if file.is_dir():
            shutil.copytree(file, stage / file.name)
        else:
            shutil.copy(file, stage)
    return stage


def tried(suite: str, packages: tuple[str, ...], stage: Path, script: str) -> None:
    """Run a trial; its failure is this program's."""
    began = time.monotonic()
    print(f"{stage.name}: {' '.join(packages)}", flush=True)
    if status := debian_root.run(suite, packages, stage, script):
        sys.exit(f"{stage.name}: failed with status {status}: see {stage / 'log'}")
    for told in ("seconds", "answers"):
        if (stage / "out" / told).exists():
            print((stage / "out" / told).read_text(), end="")
    print(f"{stage.name}: {time.monotonic() - began:.0f} s", flush=True)


def ci_packages() -> tuple[str, ...]:
    """What .ci/run installs, and what a clone on it has."""
    listed = re.search(r"^packages=\((.*?)\)", (ROOT / ".ci" / "run").read_text(), re.MULTILINE | re.DOTALL)
    assert listed is not None
    return ("ca-certificates", "git", *listed[1].split())


def try_suites(place: Path, suites: list[str]) -> None:
    """The tests of the committed state."""
    for kind, packages in (("readme", README_PACKAGES), ("ci", ci_packages())):
        for suite in suites:
            stage = staged(place, f"{suite}-{kind}", [])
            subprocess.run(["git", "archive", "-o", stage / "clone.tar", "HEAD"], cwd=ROOT, check=True)
            tried(suite, packages, stage, SUITE)
            lines = (stage / "log").read_text().splitlines()
            print(next(line for line in reversed(lines) if " passed" in line), flush=True)


def main() -> None:
    """Try it."""
    parser = argparse.ArgumentParser(description="try what make release has built in roots of Debian")
    parser.add_argument("roots", nargs="*", metavar="ROOT", default=[], help="focal, bullseye, bookworm, trixie (all)")
    parser.add_argument("--suite", action="store_true", help="the tests, not what is given out")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "release")
    args = parser.parse_args()
    roots = args.roots or ["focal", "bullseye", "bookworm", "trixie"]
    place, dist = args.out.resolve() / "trials", args.out.resolve() / "dist"
    if lacking := debian_root.missing():
        sys.exit(f"missing: {lacking}; install it")
    if os.geteuid() or platform.machine() != "x86_64":
        sys.exit("the trials make roots of Debian for x86-64 and mount in them: run them by root, on that processor")
    if args.suite:
        try_suites(place, [root for root in roots if root in WITH_PYTHON])
        return
    if not (dist / "SHA256SUMS").exists():
        sys.exit(f"{dist}: nothing has been built yet: run make release first")
    if "focal" in roots and debian_root.UBUNTU_KEYS.exists():
        stage = staged(place, "focal", [*dist.glob("incprof-[0-9]*.tar.gz"), ROOT / "examples" / "phases.c"])
        tried("focal", WITH_COMPILER, stage, FOCAL)
    elif "focal" in roots:
        print(f"focal: left out, as there is no {debian_root.UBUNTU_KEYS} (Debian 13, Ubuntu: ubuntu-keyring)")
    if "bullseye" in roots:
        given = [*dist.glob("incprof-collector-*-x86_64.tar.gz"), *dist.glob("incprof-[0-9]*.tar.gz")]
        stage = staged(place, "bullseye", [*given, ROOT / "examples" / "phases.c"])
        tried("bullseye", WITH_COMPILER, stage, BULLSEYE)
    recorded = place / "bullseye" / "out"
    for suite in (root for root in roots if root in WITH_PYTHON):
        stage = staged(place, suite, [*dist.glob("*-manylinux_*_x86_64.whl"), *dist.glob("*.deb")])
        shutil.copytree(recorded, stage / "out-of-bullseye")
        tried(suite, WITHOUT_COMPILER, stage, WHEEL)


if __name__ == "__main__":
    main()
