"""Phases that have the same sites are distinguished by what changes between them."""

from incprof.cli.main import main
from tests.unit.streamwriter import Sample, StreamWriter


def run_of(place, kernels):
    """A run in which `solve` is called 100 times an interval, for each of some kernels 20 intervals long."""
    writer = StreamWriter(["main", "solve", *dict.fromkeys(kernels)])
    for kernel in kernels:
        for _ in range(20):
            calls = {("main", "solve"): 100, ("solve", kernel): 100_000}
            writer.interval([Sample(f"main;solve;{kernel}")] * 100, arcs=calls)
    writer.end()
    return writer.save(place / "run")


def text_of(capsys, directory):
    assert main(["phases", str(directory)]) == 0
    return capsys.readouterr().out


def test_changes_are_reported_where_sites_are_the_same(tmp_path, capsys):
    text = text_of(capsys, run_of(tmp_path, ["bases", "codons"]))
    assert "2 phases" in text
    lines = [line for line in text.splitlines() if line.startswith("same sites: ")]
    assert lines == ["same sites: phase 0 to 1 at 20 s: codons from 0 % to 100 %"]


def test_nothing_is_reported_of_one_phase(tmp_path, capsys):
    assert "same sites" not in text_of(capsys, run_of(tmp_path, ["bases", "bases"]))
