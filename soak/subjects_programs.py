"""Programs that are asked whether they can be recorded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from soak.mutate_elf import mutate_elf
from soak.seeds_runs import SOURCE
from soak.subject import Command, Subject, Tree
from tests.unit.elfwriter import Symbol, elf_bytes

PLUS = """#include <stdexcept>
#include <vector>
namespace mesh {
template <class T> inline T apply(const std::vector<T> &v) { T s{}; for (auto x : v) s += x; return s; } }
int main(int n, char **) { try { throw std::runtime_error("x"); } catch (const std::exception &) {}
    return static_cast<int>(mesh::apply(std::vector<double>(n, 1.5)) + mesh::apply(std::vector<int>(n, 2))); }
"""
BUILDS = (
    ("app.c", SOURCE, "gcc -O2 -g -pg"),
    ("app.c", SOURCE, "gcc -O0 -gdwarf-4 -pg -mfentry -no-pie"),
    ("app.c", SOURCE, "gcc -O2 -g -gz -shared -fPIC -pg"),
    ("app.c", SOURCE, "gcc -O2 -s -fno-asynchronous-unwind-tables"),
    ("app.cpp", PLUS, "g++ -O1 -g -pg"),
)
COMMANDS: tuple[tuple[float, Command], ...] = (
    (100, ("read-program", "app")),
    (1, ("check", "app")),
    (1, ("check", "app", "--json")),
)


def programs(scratch: Path) -> list[Tree]:
    """Small programs, built once on this machine."""
    symbols = [Symbol("main", 0x1000), Symbol("mcount", 0, 0), Symbol("_ZN4mesh5applyEv", 0x1100)]
    trees: list[Tree] = [{"app": elf_bytes(symbols, build_id="ab" * 20, text=(0x1000, 0x2000))}]
    for number, (name, source, build) in enumerate(BUILDS):
        place = scratch / "programs" / str(number)
        if not (place / "app").exists():
            place.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(source)
            done = subprocess.run([*build.split(), name, "-o", "app"], cwd=place, capture_output=True, check=False)
            if done.returncode != 0:
                print(f"soak: cannot be built here: {build}", file=sys.stderr)
                continue
        trees.append({"app": (place / "app").read_bytes()})
    return trees


def subjects(scratch: Path) -> list[Subject]:
    """The programs."""
    return [Subject("programs", 0.6, programs(scratch), "app", mutate_elf, COMMANDS)]
