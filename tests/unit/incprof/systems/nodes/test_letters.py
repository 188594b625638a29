"""The paper's letters of fixed length: against a day that is worked out by hand, and a literal twin."""

from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.cli.main import main
from incprof.systems.nodes.analyse.paper import Phase, as_set, predicted, transitions
from incprof.systems.nodes.analyse.paper_letters import energies, folds, next_letters
from incprof.systems.nodes.analyse.spelling import NodeRows, Spelling, as_sets, spell, windows
from tests.unit.paper_header import paper_rows, write_paper_file
from tests.unit.verbs import json_of

A, B, C = 17692, 293, 348


def rows(watts, *, node="n", period=1.0, ends=None):
    """Rows of a node of which only power matters."""
    ends = np.arange(1, len(watts) + 1) * period if ends is None else np.asarray(ends, dtype=float)
    nothing = np.zeros((len(watts), 1))
    idle = np.zeros(len(watts), dtype=bool)
    return NodeRows(
        node, ("cycles",), ends, nothing, np.asarray(watts, dtype=float), None, idle, period, 0.0, simulated=False
    )


def phase(first, last, letter):
    return Phase(first, last, tuple(letter >> shift & 15 for shift in (12, 8, 4, 0)) if letter is not None else ())


def run(letters, watts, *, application="app", node="n"):
    """A run of one row for each letter, at the given watts."""
    count = len(letters)
    power = np.broadcast_to(np.asarray(watts, dtype=float), count)
    return Spelling(application, "f", tuple(letters), np.ones(count), power.copy(), rows(power, node=node))


def test_letters_of_fifteen_seconds_by_hand():
    # 40 rows: A for 20 s, B for 13 s, A for 7 s. 0-15 is A; of 15-30 B has 10 s; of 30-40, which is more than half a
    # letter, A has 7 s.
    watts = np.concatenate([np.full(20, 100.0), np.full(13, 200.0), np.full(7, 300.0)])
    found = spell("lu", "f", rows(watts), [phase(0, 20, A), phase(20, 33, B), phase(33, 40, A)], 15.0)
    assert found.letters == (A, B, A)
    assert found.seconds.tolist() == [15, 15, 10]
    assert found.joules.tolist() == pytest.approx([1500, 2500, 2700])
    assert found.sequence == (None, A, B, A, None)
    # Seven seconds are less than half a letter.
    assert spell("lu", "f", rows(watts[:37]), [phase(0, 20, A), phase(20, 37, B)], 15.0).letters == (A, B)


def test_a_run_that_is_shorter_than_a_letter_has_one():
    assert spell("x", "f", rows([100.0, 100.0]), [phase(0, 2, A)], 15.0).letters == (A,)


def test_rows_of_half_a_second_and_rows_that_are_missing():
    found = spell("x", "f", rows([100.0] * 60, period=0.5), [phase(0, 30, A), phase(30, 60, None)], 15.0)
    assert found.letters == (A, None)
    # Nothing was recorded from 15 s to 45 s: no letter, and no energy, of that time.
    ends = [*range(1, 16), *range(46, 61)]
    found = spell("x", "f", rows([100.0] * 30, ends=ends), [phase(0, 30, A)], 15.0)
    assert found.letters == (A, A)
    assert found.joules.tolist() == [1500, 1600]


@given(st.lists(st.floats(0.2, 3.0), min_size=1, max_size=60), st.floats(1.0, 40.0))
def test_each_row_is_of_one_length_of_time(steps, length):
    ends = np.cumsum(steps)
    period = float(np.median(steps))
    found = windows(ends, period, length)
    begin = ends[0] - period
    last = int((ends[-1] - period / 2 - begin) / length + 1e-9)
    for end, at in zip(ends, found, strict=True):
        middle = end - period / 2 - begin
        if at >= 0:
            assert at * length - 1e-6 <= middle < (at + 1) * length + 1e-6
        else:
            assert middle >= last * length - 1e-6
            assert ends[-1] - begin - last * length < length / 2
    if length > period / 2:
        assert found[0] == 0


def test_prediction_by_hand():
    # Three runs of one node. To learn from the first two: XXX->A 2, A->A 1, A->B 2, B->A 1, B->XXX 1, A->XXX 1.
    learnt = [run([A, A, B], 100), run([A, B, A], 100)]
    matrix = transitions(each.sequence for each in learnt)
    assert matrix == {None: {A: 2}, A: {A: 1, B: 2, None: 1}, B: {None: 1, A: 1}}
    # After B, XXX and A are as probable: XXX, which is no letter, comes first.
    assert predicted(matrix, A, 3) == [B, None, A]
    test = run([A, B, A, A], 100)
    (found,) = next_letters(folds(learnt, [test]))
    # A->B is right, B->A is not, A->A is not; "the same again" is right once. From B on: XXX, which is wrong.
    assert (found.letters, found.right, found.same, found.correct_ahead, found.to_come) == (3, 1, 1, 0.0, 2.0)
    assert (found.learnt, found.runs) == (2, 1)


def test_letters_ahead_are_counted_until_the_first_wrong_one():
    learnt = [run([A, B, C, A, B, C, A], 1)]
    (found,) = next_letters(folds(learnt, [run([A, B, C, A, B, B, C], 1)]))
    assert (found.correct_ahead, found.to_come) == (3, 5)
    # A letter that was never there has no next one.
    (found,) = next_letters(folds(learnt, [run([7, 7, 7], 1)]))
    assert (found.right, found.same, found.correct_ahead) == (0, 2, 0)


def test_each_run_is_predicted_by_the_others_of_its_node():
    every = [run([A, B, A], 1), run([A, B, A], 1), run([C, C], 1, node="m")]
    (found,) = next_letters(folds(every, []))
    # After A, B and the end are as probable: the end comes first, and only B->A is right.
    assert (found.node, found.learnt, found.runs, found.right, found.letters) == ("n", 1, 2, 2, 4)


def test_energy_by_hand_as_in_table_2():
    # Ten rows: the first two are a fifth. The reference takes 200 J and then 1600 J; the run takes 300 J in its fifth:
    # 1.5 times as much, and so 300 + 1.5 * 1600 J.
    reference = run([A] * 10, [100] * 2 + [200] * 8)
    runs = [run([A] * 10, [150] * 2 + [300] * 8), run([A] * 10, [150] * 2 + [320] * 8)]
    (found,) = energies(folds([reference], runs))
    assert found.estimated_j == pytest.approx(2700)
    assert found.measured_j == pytest.approx((2700 + 2860) / 2)
    assert found.peak_j == pytest.approx(2860)
    assert found.accuracy == pytest.approx(2700 / 2780)
    assert found.error == pytest.approx((0 + 160 / 2860) / 2)
    # By the power of its letters on the reference: ten seconds of A at 180 W.
    assert found.letters_j == pytest.approx(1800)


def test_what_takes_no_energy_is_not_estimated():
    assert energies(folds([run([A] * 5, 0)], [run([A] * 5, 100)])) == []
    assert energies(folds([run([A] * 5, 100)], [run([A] * 5, 0)])) == []


def test_the_reference_of_a_run_begins_as_it_does():
    like, unlike = run([A, A, B, B, B], [100, 100, 100, 100, 500]), run([B, A, B, B, B], [100, 100, 100, 100, 900])
    (found,) = energies(folds([unlike, like], [run([A, A, B, B, B], [100, 100, 100, 100, 500])]))
    assert found.estimated_j == pytest.approx(900)


def test_letters_of_one_set_are_one_letter():
    turned = int("145C", 16)
    first, second = as_sets([run([A, None, B], 1), run([turned, B], 1)])
    assert first.letters == (A, None, B)
    assert second.letters == (A, B)


letter = st.sampled_from([None, A, B, C])


def literal(learnt, test):
    """The paper's predictor as described: a matrix of probabilities, and its greatest entry in a row."""
    letters = sorted({x for each in learnt for x in each} | {None}, key=lambda x: -1 if x is None else x)
    matrix = np.zeros((len(letters), len(letters)))
    for each in learnt:
        path = [None, *each, None]
        for a, b in pairwise(path):
            matrix[letters.index(a), letters.index(b)] += 1
    with np.errstate(invalid="ignore"):
        matrix /= matrix.sum(axis=1, keepdims=True)

    def after(a):
        row = matrix[letters.index(a)] if a in letters else [np.nan]
        return letters[int(np.argmax(row))] if not np.isnan(row).any() else "nothing"

    right = sum(after(a) == b for a, b in pairwise(test))
    ahead, at = 0, test[1] if len(test) > 2 else None
    for true in test[2:]:
        at = after(at)
        if at != true:
            break
        ahead += 1
    return right, ahead


@settings(deadline=None)
@given(
    st.lists(st.lists(letter, min_size=1, max_size=8), min_size=1, max_size=5), st.lists(letter, min_size=1, max_size=9)
)
def test_prediction_is_that_of_a_literal_matrix(learnt, test):
    (found,) = next_letters(folds([run(each, 1) for each in learnt], [run(test, 1)]))
    right, ahead = literal(learnt, test)
    assert (found.right, found.correct_ahead) == (right, ahead)
    assert found.letters == len(test) - 1


@settings(deadline=None)
@given(st.integers(0, 1 << 32), st.integers(5, 80), st.integers(5, 80))
def test_energy_is_that_of_the_papers_integrals(seed, here, there):
    rng = np.random.default_rng(seed)
    one, other = rng.uniform(50, 300, here), rng.uniform(50, 300, there)

    def joules(watts, begin, end):
        """The integral of power that is a step for each second, by a fine grid."""
        edges = np.linspace(begin, end, 2001) * len(watts)
        middle = (edges[1:] + edges[:-1]) / 2
        return float(watts[middle.astype(int)].sum() * (edges[1] - edges[0]))

    (found,) = energies(folds([run([A] * there, other)], [run([A] * here, one)]))
    executed = joules(one, 0, 0.2)
    expected = executed + executed / joules(other, 0, 0.2) * joules(other, 0.2, 1)
    assert found.estimated_j == pytest.approx(expected, rel=0.02)
    assert found.measured_j == pytest.approx(one.sum())


ORDERS = ((4, 5, 1, 12), (0, 1, 2, 5), (8, 10, 9, 11))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three runs of an application on each of two nodes, in the paper's columns: three sets of counters, 60 s each."""
    folder = tmp_path_factory.mktemp("letters")
    made = []
    for node in ("a", "b"):
        for at in range(3):
            rates, watts = paper_rows([(order, 60) for order in ORDERS], np.random.default_rng(at + 10 * (node == "b")))
            path = folder / f"lu-{node}{at}.csv"
            made.append(write_paper_file(path, rates, watts, start=1.7e9 + 1000 * at, node=node))
    return made


answer = json_of("dna", "letters", is_silent=False)


def test_runs_of_nodes_become_letters_matrices_and_predictions(files, capsys):
    found = answer(capsys, *(f"lu={each}" for each in files))
    assert found["schema"] == "incprof.dna/1"
    assert (found["method"], found["length_s"], found["split"]) == ("letters", 15, "leave-one-out")
    assert len(found["runs"]) == 6
    for each in found["runs"]:
        assert each["application"] == "lu"
        # 180 s that are not idle.
        assert len(each["letters"]) == 12
        assert [as_set(letter) for letter in each["letters"][:3]] == [as_set(17692)] * 3
        assert each["seconds"] == 180
        assert each["misses_per_cycle"] == pytest.approx(1e7 / 4e10, rel=0.1)
    first = found["alphabet"][0]
    assert sum(each["count"] for each in found["alphabet"]) == 72
    assert sum(each["seconds"] for each in found["alphabet"]) == 6 * 180
    # One number for the set, whatever the order is in which a run had it.
    (own,) = [each for each in found["alphabet"] if each["letter"] and as_set(each["letter"]) == as_set(17692)]
    assert set(own["counters"]) == {"cache-misses", "bus-cycles", "instructions", "disk-write-bytes"}
    assert 180 < first["power_w"] < 220
    assert [each["node"] for each in found["nodes"]] == ["a", "b"]
    for node in found["nodes"]:
        into = {}
        for edge in node["transitions"]:
            into[edge["from"]] = into.get(edge["from"], 0) + edge["probability"]
        assert all(total == pytest.approx(1) for total in into.values())
        begins = [edge for edge in node["transitions"] if edge["from"] is None]
        assert sum(edge["count"] for edge in begins) == 3
        assert {as_set(edge["to"]) for edge in begins} == {as_set(17692)}
        # Three runs of 12 letters, and XXX at both ends.
        assert sum(edge["count"] for edge in node["transitions"]) == 3 * 13
    for each in found["prediction"]:
        assert (each["learnt_runs"], each["runs"], each["letters"]) == (2, 3, 33)
        assert each["accuracy"] >= 0.5
    for each in found["energy"]:
        assert (each["application"], each["runs"], each["executed"]) == ("lu", 3, 0.2)
        assert each["estimated_j"] == pytest.approx(each["measured_j"], rel=0.05)
        assert each["peak_j"] >= each["measured_j"]
        assert each["accuracy"] == pytest.approx(each["estimated_j"] / each["measured_j"])


def test_runs_to_test_are_predicted_by_those_that_were_learnt(files, capsys):
    found = answer(capsys, f"lu={files[0]}", f"lu={files[1]}", "--test", f"lu={files[2]}", "--length", "30s")
    assert found["split"] == "test"
    assert [each["use"] for each in found["runs"]] == ["learnt", "learnt", "test"]
    assert found["runs"][2]["file"] == files[2]
    assert len(found["runs"][2]["letters"]) == 6
    (node,) = found["prediction"]
    assert (node["learnt_runs"], node["runs"], node["letters"]) == (2, 1, 5)


def test_files_that_name_no_node_are_runs_of_one_node(tmp_path, capsys):
    made = []
    for at in range(2):
        rates, watts = paper_rows([(ORDERS[0], 60)], np.random.default_rng(at))
        made.append(write_paper_file(tmp_path / f"lu-{at}.csv", rates, watts))
    found = answer(capsys, *made)
    assert [each["node"] for each in found["nodes"]] == ["node"]
    assert found["prediction"][0]["runs"] == 2


def test_text_has_letters_counters_and_how_well_they_predict(files, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    capsys.readouterr()
    assert main(["dna", "letters", *files[:3], "--ranked"]) == 0
    out = capsys.readouterr().out
    assert "lu-a on a: 17692 17692 17692" in out
    assert "cache-misses, bus-cycles, instructions, disk-write-bytes" in out
    assert "predicted: each run by the other runs of its node" in out
    assert "a: next letter right" in out
    assert "lu-a on a" in out.split("Accuracy")[1]
    assert main(["dna", "letters", files[0]]) == 0
    assert "not predicted: that takes two runs of a node, or --test" in capsys.readouterr().out


def test_the_scatter_of_figure_2(files, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "misses.svg"
    assert main(["dna", "letters", f"lu={files[0]}", f"is={files[3]}", "--plot", str(picture)]) == 0
    text = picture.read_text()
    ElementTree.fromstring(text)
    # A point for each row that is not idle.
    assert text.count("<use ") >= 2 * 180


def test_a_recording_of_an_idle_node_names_its_idle_counters(files, tmp_path, capsys):
    rates, watts = paper_rows([], np.random.default_rng(0), idle=40)
    idle = write_paper_file(tmp_path / "idle.csv", rates, watts)
    assert main(["dna", "letters", idle]) == 4
    assert "idle" in capsys.readouterr().err
    # Its cache misses in a cycle are those of the busy nodes: below that, all are idle.
    assert main(["dna", "letters", *files, "--idle-run", idle]) == 4
    capsys.readouterr()
    rates[:, 4] *= 1e-2
    quiet = write_paper_file(tmp_path / "quiet.csv", rates, watts)
    found = answer(capsys, *files, "--idle-run", quiet)
    assert 0 < found["idle_below"] < 1e-4
    assert all(len(each["letters"]) == 14 for each in found["runs"])


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["FILE", "--alphabet", "a.json"], 2, "letters makes its own alphabet"),
        (["FILE", "--length", "0"], 2, "--length 0: expected more than 0 s"),
        (["FILE", "--dot"], 2, "--dot is for graph"),
        (["FILE", "--test", "missing.csv"], 4, "no such file"),
        (["NOPOWER"], 4, "no power was measured"),
    ],
)
def test_what_is_refused(files, tmp_path, capsys, arguments, code, text):
    bare = tmp_path / "bare.csv"
    bare.write_text("time_s,cycles,instructions\n1,5,7\n2,6,9\n3,4,8\n")
    given = [{"FILE": files[0], "NOPOWER": str(bare)}.get(each, each) for each in arguments]
    assert main(["dna", "letters", *given]) == code
    error = capsys.readouterr().err
    assert text in error
    assert len(error.strip().splitlines()) == 1


def test_the_options_of_letters_are_for_letters(files, capsys):
    assert main(["dna", "states", files[0], "--length", "15s"]) == 2
    assert "--length is for letters" in capsys.readouterr().err


def test_a_meter_that_stops_leaves_the_mean(tmp_path, capsys):
    rates, watts = paper_rows([(ORDERS[0], 60)], np.random.default_rng(0))
    watts[30:50] = np.nan
    path = write_paper_file(tmp_path / "n.csv", rates, watts)
    (each,) = answer(capsys, path)["runs"]
    assert len(each["letters"]) == 4
    assert each["energy_j"] == pytest.approx(200 * 60, rel=0.05)


number = st.one_of(
    st.sampled_from(["0", "nan", "", "1e300", "4e-190", "-5", "x"]), st.floats(0, 1e12).map("{:.4g}".format)
)


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.lists(st.tuples(*[number] * 6), min_size=1, max_size=20), min_size=1, max_size=2),
    st.sampled_from([(), ("--ranked",), ("--regression",), ("--length", "1s")]),
)
def test_files_of_any_numbers_are_spelt_or_refused_in_a_line(tmp_path_factory, tables, options):
    folder = tmp_path_factory.mktemp("any")
    head = "time_s,cycles,cache-misses,net-rx-bytes,cpu,disk-read-bytes,power_w"
    made = []
    for at, table in enumerate(tables):
        made.append(str(folder / f"lu-{at}.csv"))
        rows = (",".join([str(second), *row]) for second, row in enumerate(table, 1))
        (folder / f"lu-{at}.csv").write_text("\n".join([head, *rows]) + "\n")
    code = main(["dna", "letters", *made, *options])
    assert code in (0, 2, 4)
    assert main(["dna", "letters", *made, *options, "--json"]) == code
    assert main(["dna", "states", made[0], "--method", "paper"]) in (0, 2, 4)
