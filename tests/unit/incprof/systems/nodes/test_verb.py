"""incprof dna: its actions, its files and what it refuses."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from incprof.cli.main import main
from incprof.systems.nodes.node_answers import Source, read_alphabet, write_alphabet
from tests.unit.profiles import two_phase_run
from tests.unit.verbs import json_of
from truth.nodes.cases import known_program, node_case


def write(series, path, rows=None):
    """Write a series as CSV; the generated power is marked."""
    head = ",".join(["timestamp", *("power_watts" if name == "power" else name for name in series.names)])
    table = np.column_stack([series.times, series.values])[:rows]
    path.write_text(
        "# simulated: drawn\n" + head + "\n" + "\n".join(",".join(f"{x:.10g}" for x in r) for r in table) + "\n"
    )
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Known runs of a program, the beginning of another one, and an alphabet of the known ones."""
    folder = tmp_path_factory.mktemp("dna")
    known = known_program(3, other_machine=False)
    runs = [write(run.series, folder / f"app-{at}.csv") for at, run in enumerate(known.runs[:3])]
    beginning = write(
        known.run.series, folder / "beginning.csv", int(known.begins_s + 0.3 * (known.ends_s - known.begins_s))
    )
    alphabet = str(folder / "alphabet.json")
    assert main(["dna", "learn", *(f"app={run}" for run in runs), "-o", alphabet]) == 0
    return folder, runs, beginning, alphabet, known


answer = json_of("dna", is_silent=False)


def test_states_are_labels_of_rows_and_a_table(files, capsys):
    _, runs, _, alphabet, known = files
    found = answer(capsys, "states", runs[0], "--alphabet", alphabet)
    assert found["schema"] == "incprof.dna/1"
    assert len(found["labels"]) == len(known.runs[0].state)
    assert found["labels"] == found["nodes"][0]["labels"]
    assert sum(state["seconds"] for state in found["states"]) == pytest.approx(len(found["labels"]), abs=2)
    assert found["simulated"]
    names = {state["name"] for state in found["states"]}
    assert "idle" in names
    total = sum(s["energy_j"] for s in found["nodes"][0]["stretches"])
    assert total == pytest.approx(known.runs[0].energy_j.sum(), rel=0.02)


def test_the_number_of_processes_does_not_change_the_answer(files, capsys):
    _, runs, _, alphabet, _ = files
    one, two = (answer(capsys, "states", *runs, "--alphabet", alphabet, "--jobs", jobs) for jobs in ("1", "2"))
    assert one == two
    assert len(one["nodes"]) == 3


def test_an_alphabet_survives_its_file(files, tmp_path):
    alphabet = read_alphabet(files[3])
    again = tmp_path / "again.json"
    write_alphabet(alphabet, str(again))
    assert again.read_bytes() == Path(files[3]).read_bytes()


def test_text_reports_that_power_is_simulated(files, capsys):
    _, runs, _, alphabet, _ = files
    assert main(["dna", "states", runs[0], "--alphabet", alphabet]) == 0
    out = capsys.readouterr().out
    assert "power is simulated" in out
    assert "Letter" in out


def test_match_and_energy_of_a_beginning(files, capsys):
    _, _, beginning, alphabet, known = files
    (found,) = answer(capsys, "match", beginning, "--alphabet", alphabet)["matches"]
    assert found["application"] == "app"
    assert found["matches"]
    assert found["done"] == pytest.approx(0.3, abs=0.1)
    energy = answer(capsys, "energy", beginning, "--alphabet", alphabet)
    since = np.arange(1, len(known.run.state) + 1)
    run = (since > known.begins_s + 0.5) & (since <= known.ends_s + 0.5)
    assert energy["low_j"] < energy["energy_j"] < energy["high_j"]
    assert energy["energy_j"] == pytest.approx(known.run.energy_j[run].sum(), rel=0.1)


def test_follow_prints_the_state_of_each_row_and_the_next_one(files, capsys):
    _, runs, _, alphabet, known = files
    capsys.readouterr()
    assert main(["dna", "follow", runs[0], "--alphabet", alphabet, "--idle", "0", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    # The length of the first row is not known.
    assert len(rows) == len(known.runs[0].state) - 1
    assert any(row["next"] and row["next"][0]["probability"] > 0.9 for row in rows)
    assert rows[-1]["name"] == "idle"
    assert main(["dna", "follow", runs[0], "--alphabet", alphabet, "--idle", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == sum(row["changed"] for row in rows)


def test_graph_in_json_dot_and_text(files, capsys, tmp_path):
    _, runs, _, alphabet, _ = files
    found = answer(capsys, "graph", runs[0], "--alphabet", alphabet)
    assert sum(edge["probability"] for edge in found["edges"] if edge["from"] == 0) == pytest.approx(1)
    dot = tmp_path / "system.dot"
    assert main(["dna", "graph", runs[0], "--alphabet", alphabet, "--dot", "-o", str(dot)]) == 0
    text = dot.read_text()
    assert text.startswith("digraph system {")
    assert text.count(" -> ") == len(found["edges"])
    assert "S0" in capsys.readouterr().out


def test_pictures(files, tmp_path):
    pytest.importorskip("matplotlib")
    _, runs, _, alphabet, _ = files
    for action in ("states", "graph"):
        picture = tmp_path / f"{action}.svg"
        assert main(["dna", action, runs[0], "--alphabet", alphabet, "--plot", str(picture)]) == 0
        assert "<svg" in picture.read_text()


def test_the_papers_letters_cover_all_rows(files, capsys):
    _, runs, _, _, known = files
    found = answer(capsys, "states", runs[0], "--method", "paper")
    assert found["method"] == "paper"
    assert sum(phase["rows"] for phase in found["nodes"][0]["phases"]) == len(known.runs[0].state)
    assert len(found["labels"]) == len(known.runs[0].state)
    ranked = answer(capsys, "states", runs[0], "--method", "paper", "--ranked")
    assert len(ranked["nodes"][0]["phases"]) >= len(found["nodes"][0]["phases"])


def test_what_is_as_idle_as_an_idle_node_has_no_letter(files, tmp_path, capsys):
    idle = write(node_case("idle", 0).series, tmp_path / "idle.csv")
    found = answer(capsys, "states", idle, "--method", "paper", "--idle-run", idle)
    assert np.mean(np.array(found["labels"]) == -1) > 0.9


def test_states_without_an_alphabet_are_those_of_the_files(tmp_path, capsys):
    path = write(node_case("one", 0).series, tmp_path / "node.csv")
    found = answer(capsys, "states", path)
    assert len([state for state in found["states"] if state["seconds"]]) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["states", "FILE", "--dot"], 2, "--dot is for graph, not for states"),
        (["match", "FILE"], 2, "match needs --alphabet FILE"),
        (["learn", "FILE"], 2, "learn needs -o FILE"),
        (["energy", "FILE", "FILE", "--alphabet", "A"], 2, "energy takes one file"),
        (["states", "FILE", "--ranked"], 2, "--ranked is for --method paper"),
        (["states", "missing.csv"], 4, "no such file"),
        (["states", "FILE", "--alphabet", "FILE"], 4, "not an alphabet"),
        (["states", "FILE", "--alphabet", "missing.json"], 1, "missing.json"),
        (["learn", "a=", "-o", "new.json"], 2, "expected APPLICATION=FILE"),
    ],
    ids=lambda value: "-".join(value[:2]) if isinstance(value, list) else None,
)
def test_what_is_refused(files, capsys, monkeypatch, tmp_path, arguments, code, said):
    monkeypatch.chdir(tmp_path)
    assert main(["dna", *(files[1][0] if word == "FILE" else word for word in arguments)]) == code
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("damage", ["{", '{"schema": "incprof.dna-alphabet/1"}', '{"schema": "other"}', "[]"])
def test_damaged_alphabets(files, capsys, tmp_path, damage):
    path = tmp_path / "alphabet.json"
    path.write_text(damage)
    assert main(["dna", "states", files[1][0], "--alphabet", str(path)]) == 4
    assert "alphabet" in capsys.readouterr().err


def test_an_alphabet_is_not_overwritten(files, capsys):
    _, runs, _, alphabet, _ = files
    before = Path(alphabet).read_bytes()
    assert main(["dna", "learn", runs[0], "-o", alphabet]) == 2
    assert "--force" in capsys.readouterr().err
    assert Path(alphabet).read_bytes() == before


def test_sources_are_applications_and_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a+b.csv").touch()
    assert Source.of("lu=x/1.csv") == Source("lu", ("x/1.csv",))
    assert Source.of("runs/lu-12.csv") == Source("lu", ("runs/lu-12.csv",))
    assert Source.of("node.csv+pdu.csv").paths == ("node.csv", "pdu.csv")
    assert Source.of("a+b.csv").paths == ("a+b.csv",)
    assert Source.of("7.csv").application == "7"


def test_a_page_has_power_energy_and_states_of_each_phase(tmp_path, capsys):
    start = 1_700_000_000
    run = two_phase_run(tmp_path / "run", start_unix_ns=start * 10**9)
    node = tmp_path / "node.csv"
    lines = ["timestamp,cpu,cycles,instructions,disk-write-bytes,power_watts"]
    for second in range(-5, 25):
        busy = 0 <= second < 10
        counted = [each * (1 + 0.01 * (second % 3)) for each in ((2, 8e9, 12e9, 0) if busy else (0.2, 1e9, 1e9, 4e8))]
        lines.append(",".join(map(str, [start + second + 1, *counted, 200 if busy else 100])))
    node.write_text("\n".join(lines) + "\n")
    assert main(["report", str(run), "--node", str(node), "-o", "-"]) == 0
    page = capsys.readouterr().out
    section = page.split('id="node-title"')[1].split("</section>")[0]
    rows = [re.sub(r"<[^>]+>", " ", row).split() for row in section.split("<tr>")[2:]]
    assert ["2", "kJ"] in [row[4:6] for row in rows]
    assert ["1", "kJ"] in [row[4:6] for row in rows]
    assert "disk write" in section
    assert "compute" in section
    node.write_text("\n".join([lines[0], *(f"2{line}" for line in lines[1:])]) + "\n")
    assert main(["report", str(run), "--node", str(node), "-o", "-"]) == 4
    assert "does not overlap the run" in capsys.readouterr().err
