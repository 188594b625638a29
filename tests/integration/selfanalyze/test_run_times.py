"""Several OpenMP run-times in one process, as wheels and plug-ins bring them: each region stays with its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.integration.selfanalyze_programs import Programs, analyse, unnoticed
from tests.integration.selfanalyze_programs import programs as programs

STANDARD = b"libgomp.so.1"


def bring(programs: Programs, number: int, source: str = "team.c") -> Path:
    """A library with regions that brings a copy of GCC's run-time under another name."""
    found = subprocess.run(["gcc", "-print-file-name=libgomp.so.1"], capture_output=True, text=True, check=True)
    text = Path(found.stdout.strip()).read_bytes()
    name = f"libgomp.so.{number}"
    (programs.root / name).write_bytes(text.replace(STANDARD, name.encode()))
    link = ("-nodefaultlibs", "-L.", f"-l:{name}", "-lc", f"-Wl,-rpath,{programs.root}")
    return programs.compile(source, "-shared", "-fPIC", name=f"{Path(source).stem}{number}.so", link=link)


def standard(programs: Programs, compiler: str) -> Path:
    return programs.compile("team.c", "-shared", "-fPIC", compiler=compiler, name=f"team-{compiler}.so")


def driver(programs: Programs, *flags: str) -> Path:
    return programs.compile("run_times.c", *flags, name=f"run_times{''.join(flags)}")


def alone(programs: Programs) -> Path:
    """A driver without a run-time of its own."""
    return driver(programs, "-fno-openmp")


def sums(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith(("sum", "own", "code"))]


def test_two_copies_of_a_run_time(programs: Programs, tmp_path: Path) -> None:
    words = [word for number in (7, 8, 7) for word in (f"open={bring(programs, number)}", "run")]
    done = analyse([alone(programs), *words], tmp_path)
    unnoticed(done)
    assert sums(done.under.stdout) == ["sum 20000"] * 3
    assert done.runs[0].parallel_regions == 60
    assert len(done.runs[0].functions) == 2


def test_run_times_of_two_compilers(programs: Programs, tmp_path: Path) -> None:
    words = [word for name in ("gcc", "clang", "gcc") for word in (f"open={standard(programs, name)}", "run")]
    done = analyse([alone(programs), *words], tmp_path)
    unnoticed(done)
    assert sums(done.under.stdout) == ["sum 20000"] * 3
    assert done.runs[0].parallel_regions == 60


def test_a_copy_beside_the_programs_own(programs: Programs, tmp_path: Path) -> None:
    done = analyse([driver(programs), "own", f"open={bring(programs, 7)}", "run", "own"], tmp_path)
    unnoticed(done)
    assert sums(done.under.stdout) == ["own 20000", "sum 20000", "own 20000"]
    assert done.runs[0].parallel_regions == 60


@pytest.mark.parametrize("first", ["open", "global"])
def test_a_copy_that_is_for_all_from_some_time_on(programs: Programs, tmp_path: Path, first: str) -> None:
    """What was loaded before it keeps what it was bound to; what comes later is bound to that one."""
    one, other = bring(programs, 7), bring(programs, 8)
    words = [f"{first}={one}", f"global={programs.root / 'libgomp.so.8'}", f"open={one}", "run", f"open={other}", "run"]
    done = analyse([alone(programs), *words], tmp_path)
    unnoticed(done)
    assert sums(done.under.stdout) == ["sum 20000"] * 2


def test_a_namespace_of_its_own_is_left_alone(programs: Programs, tmp_path: Path) -> None:
    one, other = bring(programs, 7), bring(programs, 8)
    done = analyse([alone(programs), f"new={one}", "run", f"open={other}", "run"], tmp_path)
    unnoticed(done)
    assert sums(done.under.stdout) == ["sum 20000"] * 2
    assert done.runs[0].parallel_regions == 20


def test_a_library_that_takes_the_place_of_another_one(programs: Programs, tmp_path: Path) -> None:
    """The run-times stay: their threads do not survive that they go."""
    libraries = (bring(programs, 7), bring(programs, 8), bring(programs, 7))
    words = [f"open={programs.root / name}" for name in ("libgomp.so.7", "libgomp.so.8")]
    words += [word for path in libraries for word in (f"open={path}", "run", "close")]
    done = analyse([alone(programs), *words], tmp_path)
    unnoticed(done)
    (run,) = done.runs
    assert sums(done.under.stdout) == ["sum 20000"] * 3
    assert [Path(function.module or "").name for function in run.functions] == ["team7.so", "team8.so"]
    assert [(loop.functions, loop.iterations, loop.episodes) for loop in run.loops] == [((0,), 40, 2), ((1,), 20, 1)]


def test_a_destructor_that_waits_for_regions(programs: Programs, tmp_path: Path) -> None:
    """The loader's lock is held meanwhile."""
    library = bring(programs, 7, "joined.c")
    words = [f"open={programs.root / 'libgomp.so.7'}", f"open={library}", "run", "close"]
    done = analyse([alone(programs), *words], tmp_path)
    unnoticed(done)
    assert "joined 2000" in done.under.stdout
    assert done.runs[0].parallel_regions == 2


def test_the_loader_is_called_once_for_each_library(programs: Programs, tmp_path: Path) -> None:
    tool = programs.compile("loader_tool.c", "-shared", "-fPIC", "-fno-openmp", name="loader_tool.so")
    counts = []
    for name, times in (("once", 1), ("often", 9)):
        (tmp_path / name).mkdir()
        words = [f"open={bring(programs, 7)}", *["run"] * times]
        counts.append(analyse([alone(programs), *words], tmp_path / name, preload=f"{tool} %s").printed("lookups"))
    assert counts[0] == counts[1] > 0


def test_code_that_no_file_holds(programs: Programs, tmp_path: Path) -> None:
    done = analyse([alone(programs), f"open={bring(programs, 7)}", "code", "code", "run"], tmp_path)
    unnoticed(done)
    assert sums(done.under.stdout) == ["code 3", "code 3", "sum 20000"]


def test_code_that_no_file_holds_with_several_run_times_costs_a_line(programs: Programs, tmp_path: Path) -> None:
    one, other = bring(programs, 7), bring(programs, 8)
    done = analyse([alone(programs), f"open={one}", "run", f"open={other}", "code", "code", "run"], tmp_path)
    assert (done.under.returncode, done.under.stdout) == (0, done.alone.stdout)
    (line,) = done.under.stderr.splitlines()
    assert "several OpenMP run-times" in line
    assert "libgomp.so.7" in line


def test_nothing_stands_in_for_a_run_time_that_is_not_there(programs: Programs, tmp_path: Path) -> None:
    done = analyse([alone(programs), "ask"], tmp_path)
    assert (done.under.returncode, done.under.stdout) == (127, "")
    (line,) = done.under.stderr.splitlines()
    assert line.endswith("GOMP_parallel")


@pytest.mark.parametrize("way", ["_exit", "_Exit"])
@pytest.mark.parametrize("order", ["{tool} %s", "%s {tool}"])
def test_another_tool_in_the_same_place(programs: Programs, tmp_path: Path, order: str, way: str) -> None:
    tool = programs.compile("region_tool.c", "-shared", "-fPIC", "-fno-openmp", "-fno-builtin", name="region_tool.so")
    done = analyse([programs.compile("ways.c"), way, "25"], tmp_path, preload=order.format(tool=tool))
    unnoticed(done)
    assert f"{way} after 50 regions" in done.under.stdout
    assert [loop.iterations for loop in done.loops(2)] == [25]
    assert done.runs[0].ended
