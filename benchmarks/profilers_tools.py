"""Common profilers, as Debian ships them: how each records a program, and how its result is printed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import Command
from incprof.record import launch

INCPROF = Path(sys.executable).with_name("incprof")
GPERFTOOLS = Path("/usr/lib/x86_64-linux-gnu/libprofiler.so.0")
NO_PG = "the program is not built with -pg here"


@dataclass(frozen=True)
class Tool:
    """A profiler, and one way to use it.

    Attributes:
        name: its name.
        needs: a program or a file that it consists of.
        package: the Debian package with it.
        record: command line that records a program into an empty directory.
        answer: command line that prints the result.
        support: its support of call paths and of phases.
        paths: whether it records call paths.
        pg: whether it needs -pg.
        slow: whether it takes many times as long.
        kept: a directory in which it copies parts of the program.
        kept_content: description of the copies.
        environment: variables that it needs.
    """

    name: str
    needs: str
    package: str
    record: Callable[[Path, Command], Command]
    answer: Callable[[Path, Command], Command]
    support: str
    paths: bool = True
    pg: bool = False
    slow: bool = False
    kept: str = ""
    kept_content: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    def missing(self) -> str:
        """Why it cannot be measured here, or empty."""
        is_here = shutil.which(self.needs) is not None or Path(self.needs).exists()
        return "" if is_here else f"{self.needs} is not here: apt-get install {self.package}"

    def recording(self, directory: Path, command: Command) -> dict[str, str]:
        """Return the environment of a recording; in a variable, DIR is the directory, EXE the program, LIB ours."""
        library = launch.find_library(os.environ)
        words = {"DIR": str(directory), "EXE": os.path.realpath(command[0]), "LIB": str(library)}
        settings = dict(self.environment)
        for word, meaning in words.items():
            settings = {name: value.replace(word, meaning) for name, value in settings.items()}
        return {**os.environ, **settings}


def _incprof(name: str, *words: str, pg: bool = False) -> Tool:
    return Tool(
        name,
        str(INCPROF),
        "incprof",
        lambda at, command: [INCPROF, "record", "--log", "quiet", *words, "-o", at / "run", "--", *command],
        lambda at, _: [INCPROF, "phases", at / "run"],
        "paths, calls counted; phases" if pg else "paths; phases",
        pg=pg,
        kept="run/symbols",
        kept_content="symbols",
    )


def _perf(name: str, *words: str, support: str = "paths; no phases") -> Tool:
    return Tool(
        name,
        "perf",
        "linux-perf",
        lambda at, command: [
            *("perf", "--buildid-dir", at / "kept", "record", "-q", *words, "-o", at / "perf.data", "--"),
            *command,
        ],
        lambda at, _: ["perf", "--buildid-dir", at / "kept", "report", "--stdio", "-i", at / "perf.data"],
        support,
        kept="kept",
        kept_content="copies of programs, once for each",
    )


TOOLS = (
    _incprof("incprof record"),
    _incprof("incprof record --external", "--external"),
    _incprof("incprof record, -pg", pg=True),
    Tool(
        "libincprof.so preloaded",
        str(INCPROF),
        "incprof",
        lambda _, command: command,
        lambda at, _: [INCPROF, "phases", at / "run"],
        "paths; phases",
        kept="run/symbols",
        kept_content="symbols",
        environment={"LD_PRELOAD": "LIB", "INCPROF_DIR": "DIR/run", "INCPROF_LOG": "quiet", "INCPROF_EXE": "EXE"},
    ),
    _perf("perf record --call-graph dwarf, 100 Hz", "-F", "100", "--call-graph", "dwarf"),
    _perf("perf record --call-graph dwarf, its own 4000 Hz", "--call-graph", "dwarf"),
    _perf(
        "perf record --call-graph fp, 100 Hz",
        *("-F", "100", "--call-graph", "fp"),
        support="paths where all code keeps frame pointers; no phases",
    ),
    Tool(
        "gprofng collect app",
        "gprofng",
        "binutils",
        lambda at, command: ["gprofng", "collect", "app", "-p", "on", "-O", at / "run.er", *command],
        lambda at, _: ["gprofng", "display", "text", "-calltree", at / "run.er"],
        "paths; no phases",
    ),
    Tool(
        "gperftools (libprofiler), 100 Hz",
        str(GPERFTOOLS),
        "libgoogle-perftools4 google-perftools",
        lambda _, command: command,
        lambda at, command: ["google-pprof", "--text", "--cum", command[0], at / "profile"],
        "paths; no phases",
        environment={"CPUPROFILE": "DIR/profile", "CPUPROFILE_FREQUENCY": "100", "LD_PRELOAD": str(GPERFTOOLS)},
    ),
    Tool(
        "uftrace record, -pg",
        "uftrace",
        "uftrace",
        lambda at, command: ["uftrace", "record", "-d", at / "data", *command],
        lambda at, _: ["uftrace", "report", "-d", at / "data"],
        "paths, every call; no phases",
        pg=True,
        slow=True,
    ),
    Tool(
        "valgrind --tool=callgrind",
        "valgrind",
        "valgrind",
        lambda at, command: ["valgrind", "--tool=callgrind", f"--callgrind-out-file={at / 'out'}", *command],
        lambda at, _: ["callgrind_annotate", "--inclusive=yes", at / "out"],
        "callers and callees, counted instructions; no phases",
        slow=True,
    ),
    Tool(
        "gprof (glibc's -pg)",
        "gprof",
        "binutils",
        lambda _, command: command,
        lambda at, command: ["gprof", command[0], at / "gmon.out"],
        "callers and callees, calls counted; no phases",
        paths=False,
        pg=True,
    ),
)
