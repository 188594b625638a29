"""`check` on programs of every build, and on files that are not programs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incprof.cli.main import main
from incprof.errors import NoDataError
from incprof.record.settings import resolve
from incprof.symbols.elf.preflight import main_program, warning_for
from incprof.symbols.elf.program_file import read_traits
from soak.mutate import damaged
from soak.mutate_elf import mutate_elf
from tests.variants import mostly_slow

SOURCE = """
#include <stdio.h>
static __attribute__((noinline)) int twice(int x) { return 2 * x; }
int thrice(int x) { return twice(x) + x; }
int main(int argc, char **argv) { printf("%d\\n", thrice(argc)); return 0; }
"""


def compile_program(folder: Path, name: str, *flags: str, compiler: str = "gcc", source: str = SOURCE) -> str:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    file = folder / f"{name}.c"
    file.write_text(source)
    subprocess.run([compiler, *flags, str(file), "-o", str(folder / name)], check=True, cwd=folder)
    return str(folder / name)


def answer(path: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    status = main(["check", "--json", path])
    return status, json.loads(capsys.readouterr().out)


BUILDS = [
    [],
    ["-O2"],
    ["-no-pie", "-fno-pie"],
    ["-fno-plt"],
    ["-fno-plt", "-no-pie", "-fno-pie"],
    ["-mfentry"],
    ["-Wl,-z,now"],
    ["-Wl,-z,lazy"],
    ["-fcf-protection=full"],
]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", mostly_slow(6, BUILDS), ids=" ".join)
def test_every_build_shows_its_calls(
    tmp_path: Path, compiler: str, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = compile_program(tmp_path, "app", "-pg", "-g", *flags, compiler=compiler)
    status, said = answer(path, capsys)
    assert (status, said["usable"], said["verdict"]) == (0, True, "usable")
    assert (said["functions"], said["functions_calling"]) == (3, 3)
    assert said["hook"] == ("__fentry__" if "-mfentry" in flags else "mcount")
    assert said["pie"] is ("-no-pie" not in flags)
    assert (said["lines"], said["unwind_tables"], said["dynamic"]) == (True, True, True)


def test_the_build_id_is_the_linkers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = compile_program(tmp_path, "app", "-pg", "-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567")
    assert answer(path, capsys)[1]["build_id"] == "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("flags", "verdict"),
    [
        (["-pg", "-static"], "not usable: statically linked"),
        (["-pg", "-static-pie"], "not usable: statically linked"),
        (["-pg", "-c"], "not usable: neither a program"),
        (["-fPIC", "-shared"], "not usable: no function calls mcount"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_recorded(
    tmp_path: Path, flags: list[str], verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, said = answer(compile_program(tmp_path, "app", *flags), capsys)
    assert (status, said["usable"]) == (1, False)
    assert str(said["verdict"]).startswith(verdict)


def test_compiled_but_not_linked_with_pg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compile_program(tmp_path, "app.o", "-pg", "-c")
    subprocess.run(["gcc", "app.o", "-o", "app"], check=True, cwd=tmp_path)
    status, said = answer(str(tmp_path / "app"), capsys)
    assert (status, said["compiled_pg"], said["linked_pg"], said["verdict"]) == (
        0,
        True,
        False,
        "usable, but no line numbers; compile with -g",
    )


def test_built_without_pg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = answer(compile_program(tmp_path, "app", "-g"), capsys)
    assert (status, said["compiled_pg"], said["linked_pg"]) == (0, False, False)
    assert said["verdict"] == "usable, but not built with -pg: calls are not counted, but estimated from samples"


def test_linked_but_not_compiled_with_pg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compile_program(tmp_path, "app.o", "-c")
    subprocess.run(["gcc", "-pg", "app.o", "-o", "app"], check=True, cwd=tmp_path)
    status, said = answer(str(tmp_path / "app"), capsys)
    assert (status, said["compiled_pg"], said["linked_pg"]) == (0, False, True)
    assert "calls are not counted" in str(said["verdict"])


def test_the_profiled_part_of_a_program_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compile_program(tmp_path, "plain.o", "-c", source="int a(void) { return 1; } int b(void) { return 2; }")
    compile_program(tmp_path, "app.o", "-pg", "-c", source="int a(void), b(void); int main(void) { return a() - b(); }")
    subprocess.run(["gcc", "-pg", "app.o", "plain.o", "-o", "app"], check=True, cwd=tmp_path)
    status, said = answer(str(tmp_path / "app"), capsys)
    assert (status, said["functions"], said["functions_calling"]) == (0, 3, 1)
    assert "only 1 of 3 functions call mcount" in str(said["verdict"])


def test_profiled_libraries_are_found_by_runpath(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lib").mkdir()
    compile_program(tmp_path / "lib", "libwork.so", "-pg", "-fPIC", "-shared", source="int work(void) { return 1; }")
    caller = "int work(void); int main(void) { return work(); }"
    link = ["-Llib", "-lwork", "-Wl,-rpath,$ORIGIN/lib"]
    (tmp_path / "app.c").write_text(caller)
    subprocess.run(["gcc", "-pg", "app.c", "-o", "app", *link], check=True, cwd=tmp_path)
    _, said = answer(str(tmp_path / "app"), capsys)
    assert said["profiled_libraries"] == [str(tmp_path / "lib/libwork.so")]
    (tmp_path / "lib/libwork.so").unlink()
    _, said = answer(str(tmp_path / "app"), capsys)
    assert said["missing_libraries"] == ["libwork.so"]
    assert "libraries not found: libwork.so" in str(said["verdict"])


def test_a_stripped_program_still_shows_its_call_sites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = compile_program(tmp_path, "app", "-pg", "-s")
    assert main(["check", path]) == 0
    shown = capsys.readouterr().out
    assert "3 calls of mcount (stripped" in shown
    assert "usable, but stripped" in shown


def test_files_that_are_no_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text"
    text.write_text("plain text, long enough to hold a header")
    assert main(["check", str(text)]) == 4
    assert capsys.readouterr().err == f"incprof: {text}: not an ELF file\n"
    text.write_bytes(b"")
    assert main(["check", str(text)]) == 4
    assert main(["check", str(tmp_path / "none")]) == 4
    assert main(["check", str(tmp_path)]) == 4
    capsys.readouterr()


def test_another_machines_program_is_distinguished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(Path(compile_program(tmp_path, "app", "-pg")).read_bytes())
    data[18:20] = (183).to_bytes(2, "little")
    (tmp_path / "arm").write_bytes(data)
    status, said = answer(str(tmp_path / "arm"), capsys)
    assert (status, said["machine"]) == (1, "aarch64")
    data[4] = 1
    (tmp_path / "half").write_bytes(data)
    status, said = answer(str(tmp_path / "half"), capsys)
    assert (status, said["bits"]) == (1, 32)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return Path(compile_program(tmp_path_factory.mktemp("elf"), "app", "-pg")).read_bytes()


@pytest.mark.slow
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_damaged_files_end_in_one_error(program: bytes, tmp_path: Path, seed: int) -> None:
    file = tmp_path / "mutated"
    file.write_bytes(damaged(seed, program, mutate_elf))
    said = complaint(str(file))
    assert said is None or (str(file) in said and "\n" not in said)


def complaint(path: str) -> str | None:
    """The one error that reading may end in."""
    try:
        read_traits(path)
    except NoDataError as error:
        return str(error)
    return None


def test_the_program_that_a_command_is_about(tmp_path: Path) -> None:
    plain, profiled = compile_program(tmp_path, "plain"), compile_program(tmp_path, "profiled", "-pg")
    library = compile_program(tmp_path, "library.so", "-shared", "-fPIC")
    (tmp_path / "text").write_text("no program")
    link = tmp_path / "link"
    link.symlink_to(plain)
    shell, env = shutil.which("sh"), shutil.which("env")
    assert shell is not None
    assert env is not None
    assert main_program(plain, [profiled, "x"]) == os.path.realpath(profiled)
    assert main_program(str(link), []) == os.path.realpath(plain)
    assert main_program(env, ["A=b", "nice", "-n", "4", plain, shell]) == os.path.realpath(plain)
    assert main_program(shell, ["-c", f"{plain} 4"]) is None
    assert main_program(shutil.which("make") or "make", ["-j2", "sort"]) is None  # a target
    assert main_program(shell, [library, str(tmp_path / "text"), str(tmp_path), "no-such-program"]) is None


def test_warnings_before_a_recording(tmp_path: Path) -> None:
    good = compile_program(tmp_path, "good", "-pg")
    plain = compile_program(tmp_path, "plain")
    static = compile_program(tmp_path, "static", "-pg", "-static")
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    shell = shutil.which("sh")
    assert shell is not None
    assert warning_for(good, []) is None
    assert warning_for(plain, []) is None
    assert str(warning_for(plain, [], "other")).startswith(f"{plain}: does not match --exe other: ")
    for name in ("plain", "pl*", str(plain), "*/plain"):
        assert warning_for(plain, [], name) is None
    assert warning_for(sys.executable, ["script.py"]) is None
    loader = next(
        path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(path)
    )
    assert warning_for(loader, [str(plain)]) is None
    assert "statically linked" in str(warning_for(static, []))
    assert str(warning_for(str(shutil.which("env")), ["A=1", static])).startswith(f"{static}: statically linked")
    for words in ([str(script)], [shell, "-c", f"{plain} 4"]):
        assert warning_for(words[0], words[1:]) is None
        assert warning_for(words[0], words[1:], "good") is None
    assert warning_for(shell, ["-c", plain]) is None
    assert warning_for(plain, ["-n", "2", good]) is None
    assert warning_for(str(tmp_path / "none"), []) is None


def test_a_program_of_musl(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It runs as ever, with the library doing nothing."""
    program = compile_program(tmp_path, "small", compiler="musl-gcc")
    assert "musl" in str(warning_for(program, []))
    assert main(["check", program]) == 1
    assert "linked with musl" in capfd.readouterr().out
    command = [sys.executable, "-m", "incprof", "record", "-o", str(tmp_path / "run"), "--", program]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (outcome.returncode, outcome.stdout) == (0, "3\n")
    assert outcome.stderr.count("\n") == 1


@pytest.mark.parametrize("closed", [">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_started_with_closed_descriptors(tmp_path: Path, closed: str) -> None:
    """They are closed for the program too, which runs as ever."""
    program = compile_program(tmp_path, "small", source="int main(void) { return 42; }")
    command = f"{sys.executable} -m incprof record --log quiet -o {tmp_path}/run -- {program} {closed}"
    outcome = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (42, "", "")


def test_a_path_to_record_is_the_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app").touch()
    (tmp_path / "link").symlink_to("app")
    for typed, meant in [("./link", str(tmp_path / "app")), ("app", "app"), ("*/app", "*/app")]:
        assert resolve({"exe": typed}, {})["INCPROF_EXE"] == meant
