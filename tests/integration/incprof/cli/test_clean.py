"""`incprof clean`: what can be made again goes, what cannot stays, and answers are the same."""

import shutil
from pathlib import Path

import pytest

from incprof.cli.main import main
from incprof.report.words.formatting import decimal_size
from tests.unit.elfwriter import Symbol, elf_bytes
from tests.unit.streamwriter import BASE, BUILD_ID, STEP, Sample, StreamWriter, module

COPY = f"symbols/{BUILD_ID}.elf"


def binary(path: Path, name: str = "main", build_id: str = BUILD_ID, table: str = ".symtab") -> None:
    path.write_bytes(elf_bytes([Symbol(name, BASE)], build_id=build_id, text=(BASE, BASE + STEP), table=table))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    program = str(tmp_path / "app")
    writer = StreamWriter(["main"], exe=program, modules=[module(0, program, BUILD_ID, app=True)])
    writer.interval([Sample("main"), Sample("main")])
    writer.end()
    directory = writer.save(tmp_path / "run")
    shutil.copy(directory / COPY, program)
    for name in ("placed-sites.json", "sources.json", "ranks.json", f"symbols/{BUILD_ID}.lines.json", "answers.json"):
        (directory / name).write_text("{}")
    return directory


def held(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def cleaned(directory: Path, *words: str) -> set[str]:
    before = held(directory)
    assert main(["clean", str(directory), *words]) == 0
    after = held(directory)
    assert after.items() <= before.items()
    return before.keys() - after.keys()


def test_what_can_be_made_again_goes(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["phases", str(run)])
    answer = capsys.readouterr().out
    size = sum(len(held(run)[name]) for name in ("answers.json", "ranks.json", COPY))
    assert cleaned(run) == {"answers.json", "ranks.json", COPY}
    assert capsys.readouterr().out == f"{run}: removed {decimal_size(size)} in 3 files, with symbols of 1 module\n"
    main(["phases", str(run)])
    assert capsys.readouterr().out == answer


def test_a_dry_run_removes_nothing(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cleaned(run, "--dry-run") == set()
    assert "would remove" in capsys.readouterr().out


@pytest.mark.parametrize("change", ["gone", "built again", "stripped"])
def test_symbols_stay_of_what_is_not_there_as_it_was(run: Path, tmp_path: Path, change: str) -> None:
    if change == "gone":
        (tmp_path / "app").unlink()
    elif change == "built again":
        binary(tmp_path / "app", build_id="99" * 20)
    else:
        binary(tmp_path / "app", table=".dynsym")
    assert COPY not in cleaned(run)


def test_links_are_left_alone(run: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (run / "symbols").rename(tmp_path / "elsewhere/symbols")
    (run / "symbols").symlink_to(tmp_path / "elsewhere/symbols")
    main(["clean", str(run)])
    assert (tmp_path / "elsewhere" / COPY).is_file()


def test_what_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "answers.json").write_text("{}")
    assert main(["clean", str(tmp_path)]) == 4
    assert (tmp_path / "answers.json").is_file()
    assert "no profile in it" in capsys.readouterr().err
