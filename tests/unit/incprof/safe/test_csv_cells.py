"""Cells of CSV files: text that spreadsheets would take for formulas, and numbers."""

import csv
import io
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.cli.main import main
from incprof.report.exports import cell, with_text_cells, write_rows
from tests.unit.ekgfiles import EkgFile, beats
from tests.unit.streamwriter import BASE, BUILD_ID, STEP, Sample, StreamWriter, module

FORMULAS = ["=1+1", "+1", "-[View draw]", "@sum(a)"]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Functions and a program that are called as formulas are."""
    writer = StreamWriter(
        ["main", *FORMULAS],
        modules=[module(0, "/nowhere/=app", BUILD_ID, app=True, high=BASE + STEP * 5)],
    )
    for i in range(12):
        writer.interval([Sample(f"main;{FORMULAS[i // 3]}", weight=90 + i % 2), Sample("main")])
    writer.end()
    return writer.save(tmp_path / "run")


@pytest.mark.parametrize("text", [*FORMULAS, "\tx"])
def test_formulas_are_text(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "main", "'", "operator+(int)", "a=b", " =1", "~A()"])
def test_other_text_stays(text: str) -> None:
    assert cell(text) == text


def test_numbers_stay_numbers() -> None:
    table = pd.DataFrame({"phase": [-1, 2], "share": [-0.5, None], "name": ["-x", None], "kind": ["=", "a"]})
    table["kind"] = table["kind"].astype("category")
    assert with_text_cells(table).to_csv(index=False) == "phase,share,name,kind\n-1,-0.5,'-x,'=\n2,,,a\n"


@pytest.mark.parametrize("table", ["profile", "samples", "functions", "sites"])
def test_exported_tables(table: str, run: Path, tmp_path: Path) -> None:
    assert main(["export", str(run), "--format", "csv", "--table", table, "-o", str(tmp_path / "t.csv")]) == 0
    rows = rows_of(tmp_path / "t.csv")
    named = {row["function"] for row in rows} - {"main"}
    assert named
    assert named <= {f"'{name}" for name in FORMULAS}
    assert {row["module"] for row in rows if "module" in row} <= {"'=app"}


def test_intervals_between_phases_are_minus_one(run: Path, tmp_path: Path) -> None:
    assert main(["export", str(run), "--format", "csv", "--table", "labels", "-o", str(tmp_path / "t.csv")]) == 0
    assert all(int(row["phase"]) >= -1 for row in rows_of(tmp_path / "t.csv"))


def test_heartbeats(tmp_path: Path) -> None:
    file = EkgFile().beat(1, "=1+1").beat(2, "solve").interval(beats(0, 1, [5]), beats(0, 2, [6]), beats(0, 3, [7]))
    file.end().save(tmp_path / "ekg/rank-00000.ekg")
    assert main(["heartbeats", str(tmp_path / "ekg"), "--csv", str(tmp_path / "t.csv")]) == 0
    assert [row["name"] for row in rows_of(tmp_path / "t.csv")] == ["'=1+1", "solve", ""]


@given(st.lists(st.text("a\r\n,\"'", max_size=4), min_size=1, max_size=4))
def test_whatever_a_name_holds_it_stays_one_cell(names: list[str]) -> None:
    out = io.StringIO(newline="")
    write_rows(pd.DataFrame({"name": names, "n": range(len(names))}), out)
    rows = list(csv.reader(io.StringIO(out.getvalue(), newline="")))
    assert rows == [["name", "n"], *([name, str(at)] for at, name in enumerate(names))]
