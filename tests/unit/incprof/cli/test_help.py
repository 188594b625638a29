"""Help for a first user of the command line."""

import argparse
import re
import shlex
import subprocess
import sys

import pytest

from incprof.cli.main import main
from incprof.cli.parser import GROUPS, VERBS, verb_parser
from incprof.cli.verb_defaults import options
from incprof.command.helping import EXIT_STATUSES, hide_expert_options, is_expert
from tests.paths import ROOT


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(words)
    out, err = capsys.readouterr()
    return status, out, err


def shown_options(text: str) -> set[str]:
    """Return the long options that have a line in a help text: its prose may name others."""
    lines = [line.split("  ")[1] for line in text.splitlines() if line.startswith("  -")]
    return {word.strip(",") for line in lines for word in line.split() if word.startswith("--")}


def test_incprof_alone_shows_the_first_steps(capsys: pytest.CaptureFixture[str]) -> None:
    """Every verb that it names is there, and takes what it is shown with."""
    status, out, err = said(capsys)
    assert (status, out, err.count("\n")) == (2, "", 5)
    for verb in ("check", "record", "phases", "report", "help"):
        assert f"incprof {verb}" in err


def test_verbs_are_grouped(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "--help")
    assert (status, said(capsys, "help")[1]) == (0, out)
    places = [out.index(f"\n{group}:\n") for group in GROUPS]
    assert places == sorted(places)
    for (group, verbs), end in zip(GROUPS.items(), [*places[1:], len(out)], strict=True):
        part = out[out.index(f"\n{group}:\n") : end]
        assert all(f"\n  {verb:12}{line}\n" in part for verb, (_, line) in verbs.items())
    assert sum(map(len, GROUPS.values())) == len(VERBS)


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_exit_statuses_are_in_the_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, *[verb] * bool(verb), "--help")
    assert status == 0
    for number in (1, 2):
        assert f"  {number}  {EXIT_STATUSES[number]}" in out.partition("\nexit status:\n")[2]


@pytest.mark.parametrize("verb", VERBS)
def test_expert_options_are_behind_help_all(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is in neither, and nothing but what experts need is left out."""
    parser = verb_parser(verb)
    experts = {flag for action in parser._actions if is_expert(action) for flag in action.option_strings}
    every = {f"--{name}" for name in options(parser)}
    brief = shown_options(said(capsys, verb, "--help")[1])
    assert not experts & brief
    assert every - experts - brief == set()
    assert ("--help-all" in brief) == bool(experts)
    status, whole, _ = said(capsys, verb, "--help-all")
    assert (status, every - shown_options(whole)) == (0, set())


@pytest.mark.parametrize(
    ("verb", "hidden", "there"),
    [
        ("phases", ["--seed", "--jobs", "--method", "--set"], ["--rank", "--level", "--card", "--json"]),
        ("periods", ["--window", "--theta", "--shuffles", "--exact", "--events"], ["--column", "--follow"]),
        ("record", ["--clock", "--format"], ["--interval", "--rate", "--output", "--log"]),
    ],
)
def test_which_options_are_for_experts(
    verb: str, hidden: list[str], there: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = said(capsys, verb, "--help")[1]
    assert [word for word in hidden if word in out] == []
    assert [word for word in there if word not in out] == []


def test_expert_options_work_as_any(capsys: pytest.CaptureFixture[str]) -> None:
    """They are left out of a text, not of the command line."""
    assert verb_parser("phases").parse_args(["run", "--seed", "7"]).seed == 7


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("phase run", "phases"),
        ("recrod -- ./app", "record"),
        ("Report", "report"),
        ("heartbeat run", "heartbeats"),
        ("phases run --explian", "--explain"),
        ("phases run --plott=x.svg", "--plot"),
        ("--verzion env", "--version"),
        ("help fases", "phases"),
        ("help treshholds", "thresholds"),
        (shlex.quote(str(ROOT / "tests")), f"incprof phases {ROOT / 'tests'}"),
        (sys.executable, f"incprof record -- {sys.executable}"),
    ],
)
def test_did_you_mean(words: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = said(capsys, *shlex.split(words))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"; did you mean {meant}?" in err


@pytest.mark.parametrize("words", ["xyzzy", "phases run --xyzzy", "help xyzzy"])
def test_what_is_like_nothing_gets_no_guess(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = said(capsys, *words.split())
    assert (status, "did you mean" in err) == (2, False)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_page(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "help", verb)
    assert (status, out.startswith("# ")) == (0, True)
    assert f"incprof {verb}" in out


def test_other_pages(capsys: pytest.CaptureFixture[str]) -> None:
    names = said(capsys, "help", "pages")[1].split()
    assert {"thresholds", "formats", "collector", "phases-algorithm"} <= set(names)
    assert said(capsys, "help", "formats")[1] == (ROOT / "docs/reference/formats.md").read_text()


def test_the_pages_that_help_texts_name_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    names = set(said(capsys, "help", "pages")[1].split())
    for verb in VERBS:
        parser = verb_parser(verb)
        texts = [parser.description or "", *(str(group.description) for group in parser._action_groups)]
        texts += [str(action.help) for action in parser._actions if action.help is not argparse.SUPPRESS]
        for text in texts:
            named = re.findall(r"incprof help ([a-z-]+)", text)
            assert set(named) <= names | {"pages"}, text
            assert "docs/" not in text, "an installed package has no such directory"


def test_help_imports_little() -> None:
    code = (
        "import sys; from incprof.cli.main import main; main(['help', 'phases']); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert not loaded & {"numpy", "scipy", "pandas", "rich", "jinja2", "difflib", "pydoc"}


@pytest.mark.parametrize("word", ["perfetto", "flamegraph"])
def test_words_that_people_know_from_elsewhere(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = said(capsys, word, "run")
    assert status == 2
    assert f"did you mean incprof export DIR --format {word} -o FILE?" in err


def test_config_needs_no_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert "are required: show (see" in said(capsys, "config")[2]


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_help_shows_twelve_options_at_most(verb: str) -> None:
    parser = verb_parser(verb)
    hidden = hide_expert_options(parser)
    shown = [action for action in parser._actions if action.option_strings and action.help != argparse.SUPPRESS]
    assert len(shown) <= 12
    assert not hidden or parser.help_all.help != argparse.SUPPRESS
