"""Counters have one name each, whatever a paper, the kernel, perf or a spreadsheet calls them."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.cli.main import main
from incprof.errors import UsageError
from incprof.model.series import canonical, canonical_names
from incprof.readers.series import SeriesRequest
from incprof.systems.nodes.analyse.paper import TABLE1
from incprof.systems.nodes.read import read_nodes
from incprof.systems.periods.read import read_series
from tests.unit.paper_header import AS_PRINTED, paper_rows, write_paper_file
from tests.unit.verbs import json_of

OF_PERF = (
    "cpu-cycles", "instructions", "cache-references", "idle-cycles-frontend", "cache-misses", "bus-cycles",
    "branch-instructions", "branch-misses", "netSENTbyte", "netSENTpkt", "netRECVbyte", "netRECVpkt", "Write I/O",
    "Read I/O",
)  # fmt: skip
SPELLINGS = {
    "as printed": AS_PRINTED,
    "perf_event.h": tuple(name.replace(" ", "_") if "PERF" in name else name for name in AS_PRINTED),
    "perf": OF_PERF,
    "perf, user mode": tuple(f"{name}:u" if "-" in name or name == "instructions" else name for name in OF_PERF),
    "a spreadsheet": tuple(f"{name.title().replace(' ', '_')}" for name in AS_PRINTED),
    "incprof": TABLE1,
}


@pytest.mark.parametrize("names", SPELLINGS.values(), ids=SPELLINGS)
def test_the_counters_of_table_1_in_every_spelling(names):
    assert tuple(canonical_names(names)) == TABLE1


@given(st.sampled_from(AS_PRINTED + OF_PERF + TABLE1), st.data())
def test_case_and_signs_between_letters_do_not_matter(name, data):
    separators = data.draw(st.lists(st.sampled_from(["", " ", "_", "-", ".", "  "]), min_size=3, max_size=3))
    drawn = "".join(
        (each.upper() if data.draw(st.booleans()) else each.lower())
        if each.isalnum() else separators[at % 3] for at, each in enumerate(name)
    )  # fmt: skip
    assert canonical(drawn) == canonical(name)
    assert canonical(name) in TABLE1


@given(st.lists(st.sampled_from([*AS_PRINTED, *OF_PERF, *TABLE1, "LLC-load-misses", "LLC-loads", "mine", "Mine"]),
                unique=True, max_size=12))  # fmt: skip
def test_columns_keep_their_places_and_no_two_get_one_name(names):
    called = canonical_names(names)
    assert len(set(called)) == len(called) == len(names)
    for own, name in zip(names, called, strict=True):
        assert name == own or canonical(own) == name or own.startswith("LLC")


def test_two_columns_of_one_counter_keep_their_names_but_for_the_one_that_has_it():
    assert canonical_names(["cpu_core/cycles/", "cpu_atom/cycles/"]) == ["cpu_core/cycles/", "cpu_atom/cycles/"]
    assert canonical_names(["cpu-cycles", "cycles"]) == ["cpu-cycles", "cycles"]
    assert canonical_names(["LLC-load-misses", "LLC-loads"]) == ["cache-misses", "cache-references"]
    assert canonical_names(["LLC-load-misses", "PERF_COUNT_HW_CACHE_MISSES"]) == ["LLC-load-misses", "cache-misses"]


@pytest.mark.parametrize("names", SPELLINGS.values(), ids=SPELLINGS)
def test_a_file_is_read_alike_whatever_its_columns_are_called(tmp_path, names):
    rates, watts = paper_rows([((4, 5, 1, 12), 30)], np.random.default_rng(3))
    (found,) = read_nodes([write_paper_file(tmp_path / "node.csv", rates, watts, names)])
    assert found.counters == TABLE1
    np.testing.assert_allclose(found.values[:, :14], rates, rtol=1e-5)
    np.testing.assert_allclose(found.watts, watts, atol=1e-3)
    assert {unit for name, unit in zip(found.names, found.units, strict=True) if "bytes" in name} == {"B/s"}


def test_what_is_taken_for_another_counter_is_noted(tmp_path):
    path = tmp_path / "n.csv"
    path.write_text("time_s,LLC-load-misses\n1,5\n2,7\n3,6\n")
    (found,) = read_nodes([path])
    assert found.counters == ("cache-misses",)
    assert "LLC-load-misses is treated as cache-misses" in found.notes


def paper_file(tmp_path, names=AS_PRINTED):
    """A node that is idle, goes through two sets of counters of the paper's letters, and is idle again."""
    rates, watts = paper_rows([((4, 5, 1, 12), 64), ((0, 1, 2, 5), 64)], np.random.default_rng(0))
    return write_paper_file(tmp_path / "node.csv", rates, watts, names)


answer = json_of("dna", is_silent=False)


@pytest.mark.parametrize("names", SPELLINGS.values(), ids=SPELLINGS)
def test_the_papers_letter_comes_out_of_a_file_with_the_papers_header(tmp_path, capsys, names):
    found = answer(capsys, "states", paper_file(tmp_path, names), "--method", "paper", "--ranked")
    phases = found["nodes"][0]["phases"]
    # 12 rows idle, and then 0x451C: cache misses, bus cycles, instructions, bytes written.
    assert [(phase["letter"], phase["rows"]) for phase in phases[:2]] == [(None, 12), (17692, 64)]
    assert phases[-1]["letter"] is None
    assert phases[-1]["rows"] == 12
    assert 293 in [phase["letter"] for phase in phases[2:-1]]
    assert found["labels"].count(-1) >= 24


def test_letters_of_one_set_are_one_letter_unless_they_are_ranked(tmp_path, capsys):
    rates, watts = paper_rows([((4, 5, 1, 12), 64)], np.random.default_rng(0))
    path = write_paper_file(tmp_path / "node.csv", rates, watts)
    found = answer(capsys, "states", path, "--method", "paper")
    assert {each for each in found["labels"] if each >= 0} == {17692}


def test_idle_is_named_and_a_live_file_with_the_papers_header_is_followed(tmp_path, capsys):
    path = paper_file(tmp_path)
    found = answer(capsys, "states", path)
    names = {state["id"]: state["name"] for state in found["states"]}
    assert [names[each] for each in (found["labels"][0], found["labels"][-1])] == ["idle", "idle"]
    assert names[found["labels"][40]].startswith("compute")
    alphabet = str(tmp_path / "alphabet.json")
    answer(capsys, "learn", path, "-o", alphabet)
    assert main(["dna", "follow", path, "--alphabet", alphabet, "--idle", "0", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows[3]["name"] == rows[-1]["name"] == "idle"
    assert rows[60]["name"].startswith("compute")


def test_a_series_is_named_by_what_a_counter_is_called_anywhere(tmp_path):
    rates, watts = paper_rows([((4, 5, 1, 12), 30)], np.random.default_rng(3))
    path = write_paper_file(tmp_path / "node.csv", rates, watts)
    for name in ("cycles", "cpu-cycles", "PERF_COUNT_HW_CPU_CYCLES", "PERF COUNT HW CPU CYCLES", "2"):
        np.testing.assert_allclose(read_series(path, SeriesRequest(column=name)).values, rates[:, 0], rtol=1e-5)
    found = read_series(path, SeriesRequest(column="instructions/cycles"))
    np.testing.assert_allclose(found.values, rates[:, 1] / rates[:, 0], rtol=1e-4)
    assert found.interval_s == 1
    with pytest.raises(UsageError, match="no column 'ref-cycles'"):
        read_series(path, SeriesRequest(column="ref-cycles"))
