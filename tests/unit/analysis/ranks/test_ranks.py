"""Several ranks in the same phases."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from incprof.analysis.phase_result import all_steps
from incprof.analysis.ranks.all_ranks import aligned, stragglers
from incprof.analysis.ranks.ranks_result import TIMES
from incprof.analysis.ranks.summary import adjusted_rand, agreement
from incprof.cli.main import main
from incprof.model.time_use import WORK
from incprof.study import Study, StudyOptions
from incprof.study.ranks_read import STORE, Kept, decoded, encoded
from tests.unit.manyranks import FUNCTIONS, MIXES, STORY, in_phases_of_first, summary_of, write_rank
from tests.unit.profiles import rows
from tests.unit.streamwriter import Sample, StreamWriter, module
from tests.unit.verbs import verb
from tests.variants import mostly_slow

phases = verb("phases")


def answer_of(study):
    """What an answer is but for the names of ranks."""
    result = study.phases(confidence=False)
    sites = [[(s.function.name, s.kind, s.heartbeat) for s in phase.sites] for phase in result.phases]
    steps = [[s.function.name for s in all_steps(phase.steps)] for phase in result.phases]
    return result.k, sites, steps


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Five ranks that do the same with the noise of sampling, and a master."""
    directory = tmp_path_factory.mktemp("many") / "run"
    for rank in range(5):
        write_rank(directory, rank, ranks=6)
    write_rank(directory, 5, (("master", 60),), ranks=6)
    return directory


def test_every_rank_has_the_same_phases(run):
    answers = [answer_of(Study(run, rank=rank)) for rank in range(6)]
    assert all(answer == answers[0] for answer in answers)
    k, sites, _ = answers[0]
    assert k == 4
    assert [own[0][0] for own in sites] == ["assemble", "solve", "output", "master"]
    found = Study(run).ranks
    truth = [0] * 15 + [1] * 20 + [0] * 10 + [2] * 15
    for rank in range(5):
        own = found.of_rank(rank)
        assert own.of_intervals(own.label).tolist() == truth
    assert found.of_rank(5).label.tolist() == [3]
    assert [group.ranks for group in found.groups] == [(0, 1, 2, 3, 4), (5,)]
    assert [one.rank for one in found.outliers] == [5]
    assert found.outliers[0].why[0].function == "master"
    assert found.stragglers == ()


def test_ranks_of_one_behaviour_have_the_answer_of_any(tmp_path):
    for rank in range(4):
        write_rank(tmp_path / "four", rank, seed=7)
    write_rank(tmp_path / "one", 0, seed=7)
    alone = Study(tmp_path / "one")
    for rank in range(4):
        study = Study(tmp_path / "four", rank=rank)
        assert answer_of(study) == answer_of(alone)
        mine, only = study.phases(confidence=False), alone.phases(confidence=False)
        assert mine.labels.tolist() == only.labels.tolist()
        assert [p.seconds for p in mine.phases] == [p.seconds for p in only.phases]
        assert [b.interval for b in mine.borders] == [b.interval for b in only.borders]


@pytest.mark.parametrize("order", mostly_slow(1, [[5, 3, 0, 1, 4, 2], [1, 2, 3, 4, 5, 0]]))
def test_what_ranks_are_called_changes_nothing(run, tmp_path, order):
    for old, new in enumerate(order):
        story = (("master", 60),) if old == 5 else STORY
        write_rank(tmp_path, new, story, seed=old, ranks=6)
    first, other = Study(run), Study(tmp_path)
    assert answer_of(other) == answer_of(first)
    assert [order[part.rank] for part in first.ranks.parts] == [part.rank for part in other.ranks.parts]
    for old, new in enumerate(order):
        assert first.ranks.of_rank(old).label.tolist() == other.ranks.of_rank(new).label.tolist()


def test_one_rank_by_itself(run, tmp_path, capsys):
    write_rank(tmp_path, 5, (("master", 60),), ranks=6)
    _, alone, _ = phases(capsys, tmp_path, "--json")
    status, out, err = phases(capsys, run, "--rank", 5, "--ranks", 5, "--json")
    mine, alone = json.loads(out), json.loads(alone)
    assert (status, err) == (0, "")
    assert mine["run"].pop("ranks") == 6
    assert alone["run"].pop("ranks") == 1
    assert mine == alone
    assert phases(capsys, run, "--ranks", "5", "--json")[1] == out


def test_json_has_the_kind_of_each_rank(run, capsys):
    status, out, _ = phases(capsys, run, "--json", "--rank", 3)
    found = json.loads(out)
    assert (status, found["rank"]) == (0, 3)
    assert [one["rank"] for one in found["per_rank"]] == list(range(6))
    assert found["per_rank"][3]["labels"] == found["labels"]
    assert len(found["per_rank"][5]["labels"]) == 60
    for phase in (*found["phases"], *found["absent"]):
        work = [one["work_s"][phase["id"]] for one in found["per_rank"] if one["wall_s"][phase["id"]] > 0]
        assert phase["ranks"] == len(work)
        assert phase["work_s"]["max"] == max(work)
        assert phase["imbalance"] == pytest.approx(max(work) / np.mean(work) - 1, abs=1e-5)
    # A phase that the rank never comes into is no row of it.
    assert [phase["id"] for phase in found["phases"]] == [0, 1, 2]
    assert [phase["id"] for phase in found["absent"]] == [3]


def test_a_rank_that_waits_is_in_a_phase_of_waiting(tmp_path):
    for rank in range(3):
        write_rank(tmp_path, rank)
    idle = StreamWriter(FUNCTIONS, rank=3)
    for interval in range(60):
        idle.interval([Sample("main;assemble", weight=80)] if interval < 15 else [])
    idle.end()
    idle.save(tmp_path, "rank-00003.gmon")
    study = Study(tmp_path, rank=3)
    waits = [phase.id for phase in study.phases(confidence=False).phases if phase.off_cpu]
    assert study.phases(confidence=False).labels.tolist() == [0] * 15 + waits * 45
    assert waits == [3]
    assert study.ranks.of_rank(0).label.tolist() == [0, 1, 0, 2]


def test_a_rank_of_too_few_samples_is_not_shown_in_phases_that_it_mixes(tmp_path, capsys):
    each = {
        "assemble": {"main;assemble": 6.7, "main;solve": 2.3},
        "solve": {"main;solve": 8.1, "main": 0.9},
        "output": {"main;output": 8.3, "main;solve": 0.7},
        "main": {"main;assemble": 0.35, "main;solve": 0.95, "main;output": 1.2},
    }
    write_rank(tmp_path, 1, [("assemble", 4), ("solve", 40), ("output", 40)], mixes=each, ranks=2, interval_s=0.1)
    write_rank(tmp_path, 0, [("main", 84)], mixes=each, ranks=2, interval_s=0.1)
    study = Study(tmp_path)
    assert set(study.ranks.of_rank(0).label.tolist()) == {-1}
    assert sorted(set(study.ranks.of_rank(1).label.tolist())) == [0, 1, 2]
    assert study.rank == study.profile.metadata.rank == 1
    assert "rank 0 does not go through these phases for 100 % of its time" in phases(capsys, tmp_path)[1]
    assert phases(capsys, tmp_path, "--rank", 0)[0] == 0
    assert "ranks: the 2 ranks go through the phases at times that differ: they agree by" in phases(capsys, tmp_path)[1]


def test_text_is_a_screen_however_many_ranks(run, capsys):
    status, out, err = phases(capsys, run)
    assert (status, err) == (0, "")
    last = "ranks: 5 of 6 ranks go through the phases together (not 5); 1 outlier: --details"
    assert out.splitlines()[-1] == last
    status, out, _ = phases(capsys, run, "--details")
    said = out[out.index("ranks: ") :]
    assert last in said
    assert "outliers: rank 5: master 100 % of its work" in said
    assert len(said.splitlines()) <= 30
    assert len(phases(capsys, run, "--details", "--per-rank")[1].splitlines()) >= len(out.splitlines()) + 6
    assert "Agrees" in phases(capsys, run, "--per-rank")[1]


@pytest.mark.slow
def test_jobs_and_what_was_kept_change_no_byte(run, capsys):
    answers = []
    for jobs in (1, 2):
        (run / STORE).unlink(missing_ok=True)
        answers.append(phases(capsys, run, "--json", "--jobs", jobs))
    kept = (run / STORE).read_bytes()
    answers.append(phases(capsys, run, "--json"))
    assert (run / STORE).read_bytes() == kept
    assert len(set(answers)) == 1
    # What is damaged, or of other files, is found again.
    for damage in (b"{", kept.replace(b'"label"', b'"labels"', 1), kept[:-40]):
        (run / STORE).write_bytes(damage)
        assert phases(capsys, run, "--json") == answers[0]
    assert (run / STORE).read_bytes() == kept


def test_what_was_kept_is_of_these_options_and_files(run, tmp_path):
    for rank in range(3):
        write_rank(tmp_path, rank)
    assert Study(tmp_path).ranks.ranks == (0, 1, 2)
    assert Study(tmp_path, ranks=(0, 2)).ranks.ranks == (0, 2)
    assert Study(tmp_path, options=StudyOptions(k=2)).phases(confidence=False).k == 2
    write_rank(tmp_path, 1, (("solve", 30),))
    assert set(Study(tmp_path).ranks.of_rank(1).label.tolist()) == {1}


def test_kept_is_what_it_was(run):
    found = Study(run).ranks
    kept = Kept(found, ("a", "b"), "x")
    again = decoded(Kept, json.loads(json.dumps(encoded(kept))))
    assert encoded(again) == encoded(kept)
    assert type(again.ranks.labels[0]) is type(found.labels[0])
    assert again.ranks.offset_s.dtype == found.offset_s.dtype


def test_ranks_that_cannot_be_used_are_named_and_the_rest_answers(tmp_path, capsys):
    for rank in range(6):
        write_rank(tmp_path, rank, ranks=7)
    (tmp_path / "rank-00000.gmon").write_bytes(b"nonsense")
    torn = tmp_path / "rank-00002.gmon"
    torn.write_bytes(torn.read_bytes()[:-500])
    program = StreamWriter().metadata["modules"]
    program[0]["build_id"] = "ff" * 20
    write_rank(tmp_path, 4, ranks=7, modules=program, launch="another")
    status, out, err = phases(capsys, tmp_path, "--json")
    found = json.loads(out)
    assert (status, found["rank"], found["k"]) == (5, 1, 3)
    assert [one["rank"] for one in found["per_rank"]] == [1, 2, 3, 5]
    lines = [line.removeprefix("incprof: ") for line in err.splitlines()]
    assert lines[0].startswith("rank 0 is left out: ")
    assert lines[1] == "rank 6 has no file: recorded elsewhere, or lost"
    assert lines[2].startswith("rank 2: ")
    assert [program["processes"][0]["rank"] for program in found["programs"] if not program["shown"]] == [4]


def test_ranks_of_an_interpreter_may_have_loaded_other_modules(tmp_path):
    """Such as spawned workers of a pool: the first module of the program is another one, the program is the same."""
    own = StreamWriter(FUNCTIONS).metadata["modules"]
    python = module(1, "/usr/bin/python3", "ee" * 20, app=False)
    for rank, build_id in enumerate(["aa" * 20, "aa" * 20, "bb" * 20]):
        loaded = [{**own[0], "path": f"/lib/{build_id}.so", "build_id": build_id}, python, *own[1:]]
        write_rank(tmp_path, rank, ranks=3, exe="/usr/bin/python3", modules=loaded)
    assert Study(tmp_path).ranks.ranks == (0, 1, 2)


def test_ranks_that_were_not_to_be_recorded_are_not_missing(tmp_path, capsys):
    for rank in (0, 3):
        write_rank(tmp_path, rank, ranks=8, selected=True)
    assert phases(capsys, tmp_path)[0] == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--ranks", "1-"), "expected ranks and ranges"),
        (("--ranks", "3-1"), "expected ranks and ranges"),
        (("--ranks", "0,9"), "no rank 9"),
        (("--rank", 4, "--ranks", "0-2"), "--rank 4 is not among"),
        (("--rank", 9), "no rank 9"),
    ],
)
def test_wrong_ranks(run, capsys, args, said):
    status, out, err = phases(capsys, run, *args)
    assert (status, out) == (2, "")
    assert said in err


def balanced(work, k=1):
    """What `stragglers` takes of ranks that work so long, (r,)."""
    spent = np.zeros((len(work), k + 1, len(TIMES)))
    spent[:, 0, WORK] = work
    wall = np.zeros((len(work), k + 1))
    wall[:, 0] = 400.0
    found = in_phases_of_first([rows(*["a=90"] * 10)])
    one = summary_of(rows(*["a=90"] * 10))
    told = [replace(one, rank=rank) for rank in range(len(work))]
    labels = [replace(found.labels[0], rank=rank) for rank in range(len(work))]
    return [one.rank for one in stragglers(told, labels, spent, wall, 100.0)]


@pytest.mark.parametrize("seed", range(5))
def test_exactly_the_stragglers_are_found(seed):
    rng = np.random.default_rng(seed)
    work = 200.0 * (1.0 + 0.03 * rng.standard_normal(512))
    assert balanced(work) == []
    slow = rng.choice(512, 5, replace=False)
    work[slow] *= 1.5
    assert sorted(balanced(work)) == sorted(slow.tolist())


@pytest.mark.filterwarnings("error")
def test_a_phase_that_no_rank_goes_through_has_no_straggler():
    assert balanced(np.array([100.0, 100.3, 99.8, 130.0]), k=2) == [3]


def test_imbalance_of_many_is_no_straggler():
    assert balanced(np.linspace(100.0, 200.0, 64)) == []
    assert balanced(np.repeat([100.0, 150.0], 32)) == []
    assert balanced(np.array([100.0, 300.0])) == []
    assert balanced(np.array([100.0, 100.3, 99.8, 130.0])) == [3]
    # So much differs by counting samples alone.
    assert balanced(np.array([0.2, 0.2, 0.2, 0.3])) == []


def test_clocks_of_nodes_are_put_right():
    story = rows(*["a=90"] * 20, *["b=90"] * 20, *["a=90"] * 20, *["b=90"] * 20)
    found = in_phases_of_first([story] * 8)
    start = 10**18
    ahead = [0, 0, 0, 0, 7, 7, 0, 0]
    told = [
        summary_of(story, rank, host=f"node{rank // 2}", start_unix_ns=start + s * 10**9)
        for rank, s in enumerate(ahead)
    ]
    offset, rate, clocks = aligned(told, found.labels, 1.0)
    assert offset == pytest.approx(np.zeros(8))
    assert rate.tolist() == [1.0] * 8
    assert [(clock.host, clock.late_s, clock.boundaries) for clock in clocks] == [("node2", pytest.approx(7.0), 3)]
    # A rank that starts later and comes to the same borders has a clock that is right.
    late = rows(*["a=90"] * 13, *["b=90"] * 20, *["a=90"] * 20, *["b=90"] * 20)
    found = in_phases_of_first([story] * 6 + [late] * 2)
    ahead = [0, 0, 0, 0, 0, 0, 7, 7]
    told = [
        summary_of(late if s else story, rank, host=f"node{rank // 2}", start_unix_ns=start + s * 10**9)
        for rank, s in enumerate(ahead)
    ]
    offset, _, clocks = aligned(told, found.labels, 1.0)
    assert clocks == ()
    assert offset.tolist() == [0, 0, 0, 0, 0, 0, 7, 7]


def test_adjusted_rand_is_that_of_others():
    rng = np.random.default_rng(3)
    for k in (1, 2, 5):
        one, other = rng.integers(0, k, 200), rng.integers(0, 3, 200)
        assert adjusted_rand(one, other) == pytest.approx(adjusted_rand_score(one, other))
    assert agreement(np.array([[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [-1, -1, -2, -2]])) == (1.0, 1.0, 1.0, None)


def test_waiting_for_others_makes_no_other_phase():
    """One rank waits for a third of the time in which another one works: both are in the same phases."""

    def rank(*lines):
        profile = rows(*lines)
        functions = tuple(replace(f, imported=f.name.startswith("MPI_")) for f in profile.functions)
        return replace(profile, functions=functions)

    waits = rank(*["solve=65 MPI_Waitall=35"] * 30, *["relax=65 MPI_Waitall=35"] * 30)
    works = rank(*["solve=97 MPI_Waitall=3"] * 30, *["relax=97 MPI_Waitall=3"] * 20, *["MPI_Recv=100"] * 10)
    _, other = in_phases_of_first([waits, works]).labels
    assert other.of_intervals(other.label).tolist() == [0] * 30 + [1] * 20 + [-1] * 10


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """Rank 0 only writes what the others compute; the others never write."""
    directory = tmp_path_factory.mktemp("apart") / "run"
    mixes = {**MIXES, "solve": {"main;solve": 45, "main;assemble": 45}}
    write_rank(directory, 0, (("output", 25), ("assemble", 10)), ranks=4, mixes=mixes)
    for rank in range(1, 4):
        write_rank(directory, rank, (("assemble", 15), ("solve", 20)), ranks=4, mixes=mixes)
    return directory


@pytest.mark.parametrize("rank", mostly_slow(1, [0, 1]))
def test_a_phase_that_a_rank_never_comes_into_is_no_row_of_it(apart, rank, capsys):
    status, out, _ = phases(capsys, apart, "--rank", rank, "--json")
    found = json.loads(out)
    assert status == 0
    assert {phase["id"] for phase in found["phases"]} == set(found["labels"]) - {-1}
    absent = {phase["id"] for phase in found["absent"]}
    assert absent
    assert absent.isdisjoint(found["labels"])
    assert {phase["id"] for phase in found["phases"]} | absent == set(range(found["k"]))
    assert all(phase["ranks"] > 0 for phase in found["absent"])
    text = phases(capsys, apart, "--rank", rank, "--details")[1]
    head, _, _ = text.partition("ranks: ")
    assert not any(f"\n {number}  " in head for number in absent)
    assert f"rank {rank} does not go through phase" in head
    # The phases of all ranks are rows of the table of ranks.
    assert "Imbalance  CPU in MPI" in text
    csv = phases(capsys, apart, "--rank", rank, "--csv")[1].splitlines()[1:]
    assert {int(line.split(",")[2]) for line in csv} == set(found["labels"])


def test_shares_are_those_within_the_rank(apart):
    study = Study(apart, rank=1)
    result, profile = study.phases(confidence=False), study.profile
    self_s = profile.self_s.toarray()
    seen = 0
    for phase in result.present:
        own = self_s[result.labels == phase.id]
        for site in phase.sites:
            if site.function.name in ("assemble", "solve"):
                # Neither calls anything.
                assert site.phase_pct == pytest.approx(100 * own[:, site.index].sum() / own.sum(), abs=1e-6)
                seen += 1
            assert site.app_pct == pytest.approx(site.phase_pct * phase.app_pct / 100)
    assert seen


def test_ids_are_the_same_in_all_ranks(apart):
    named = {}
    for rank in range(4):
        for phase in Study(apart, rank=rank).phases(confidence=False).present:
            named.setdefault(phase.id, set()).add(phase.sites[0].function.name)
    assert all(len(names) == 1 for names in named.values())


def test_no_row_of_a_page_or_a_comparison_is_a_phase_of_other_ranks(apart, tmp_path, capsys):
    assert main(["report", str(apart), "--rank", "0", "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    capsys.readouterr()
    found = json.loads(phases(capsys, apart, "--rank", 0, "--json")[1])
    table = page.partition('<table class="phases">')[2].partition("</tbody>")[0].partition("<tbody>")[2]
    assert table.count("<tr") == len(found["phases"])
    # The map of ranks names those of other ranks too.
    data = json.loads(page.partition('type="application/json" id="data">')[2].partition("</script>")[0])
    assert {phase["id"] for phase in data["phases"]} > {phase["id"] for phase in found["phases"]}
    assert main(["diff", str(apart), str(apart), "--rank", "0", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["phases"]
    assert all(row["a"]["seconds"] > 0 for row in rows)
