"""Options of the verbs from configuration files, and `incprof config show`."""

import json
import os

import pytest

from incprof.cli.main import main
from incprof.cli.parser import VERBS, build_parser
from tests.unit.profiles import two_phase_run


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A working directory without any settings; its parts are named as in the answers."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    for variable in ("INCPROF_INTERVAL", "INCPROF_RATE"):
        monkeypatch.delenv(variable, raising=False)

    def write(project="", user=""):
        (tmp_path / "work/incprof.toml").write_text(project)
        (tmp_path / "home/incprof").mkdir(parents=True, exist_ok=True)
        (tmp_path / "home/incprof/config.toml").write_text(user)

    return write


def test_the_nearer_file_wins_and_the_command_line_wins_over_both(project, tmp_path, capsys):
    run = str(two_phase_run(tmp_path / "run"))
    project('[phases]\nmethod = "paper"\n', '[phases]\nmethod = "robust"\nk = 1\njson = true\n')
    assert main(["phases", run]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["method"], answer["k"]) == ("paper", 1)
    assert main(["phases", run, "--method", "robust", "--k", "2"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["method"], answer["k"]) == ("robust", 2)


def test_of_options_that_exclude_each_other_the_command_line_gives_one(project, tmp_path, capsys):
    run = str(two_phase_run(tmp_path / "run"))
    project("[phases]\njson = true\n[top]\nplain = true\n")
    assert main(["phases", run]) == 0
    assert capsys.readouterr().out.startswith("{")
    assert main(["phases", run, "--csv"]) == 0
    assert capsys.readouterr().out.startswith("interval,")
    args = build_parser("top").parse_args(["top", run, "--once"])
    assert (args.once, args.plain) == (True, False)
    assert build_parser("top").parse_args(["top", run]).plain


def test_an_option_that_must_be_given_may_come_from_a_file(project, tmp_path, capsys):
    project('[export]\nformat = "csv"\n')
    assert main(["export", str(two_phase_run(tmp_path / "run"))]) == 0
    assert capsys.readouterr().out.startswith("interval,start_s,end_s,function")


def test_lists_are_options_given_several_times(project):
    project('[instrument]\nsite = ["solve:loop", "main"]\n')
    words = ["instrument", "DIR", "--source", "."]
    assert build_parser("instrument").parse_args(words).site == ["solve:loop", "main"]
    words += ["--site", "mine", "--site", "other"]
    assert build_parser("instrument").parse_args(words).site == ["mine", "other"], "the command line wins"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[phases]\nmethd = 1\n", "incprof.toml: phases.methd: there is no such option; see incprof phases --help"),
        ("[phases]\nk = 'many'\n", "incprof.toml: phases.k: 'many' is wrong, expected a whole number"),
        (
            "[phases]\nmethod = 'magic'\n",
            "incprof.toml: phases.method: 'magic' is wrong, expected one of robust",
        ),
        ("[phases]\njson = 1\n", "incprof.toml: phases.json: expected true or false"),
        ("phases = 1\n", "incprof.toml: phases must be a table, such as [record]"),
        ("[phases\n", "incprof.toml: not valid TOML"),
        ("[phases]\nk = true\n", "incprof.toml: phases.k: expected a value, not true"),
        ("[phases]\nk = {a = 1}\n", "incprof.toml: phases.k: expected a value, not a table"),
        (
            "[phases]\n'k\\u001b[31m' = 1\n".replace("'", '"'),
            r"incprof.toml: phases.k\x1b[31m: there is no such option",
        ),
        ("[phase]\nk = 3\n", "incprof.toml: [phase] is not a verb of incprof; see incprof --help"),
        ("[env]\ncflags = true\n", "incprof.toml: [env] has no settings; put those of a recording into [record]"),
        ("a = " + "[" * 20_000, "incprof.toml: not valid TOML: nested too deeply"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(project, text, message, capsys):
    project(text)
    assert main(["phases", "DIR"]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1


@pytest.mark.parametrize("words", [["config", "show"], ["record", "--", "true"], ["doctor"], ["env"]])
def test_a_table_that_is_no_verb_ends_every_verb(project, words, capsys):
    project("[phase]\nk = 3\n")
    assert main(words) == 2
    assert "incprof.toml: [phase] is not a verb of incprof" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["phases", "--help"], ["record", "-h"], ["completion", "bash"], ["--version"]])
def test_help_and_completion_are_had_where_the_file_is_wrong(project, words, capsys):
    project("[phases]\nmethd = 1\n[phase]\nk = 3\n")
    assert main(words) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("make", "why"), [(os.mkdir, "Is a directory"), (os.mkfifo, "not a regular file")])
def test_a_file_that_cannot_be_read_is_named(project, tmp_path, capsys, make, why):
    make(tmp_path / "work/incprof.toml")
    assert main(["phases", "DIR"]) == 2
    assert capsys.readouterr().err == f"incprof: incprof.toml: cannot be read: {why}\n"


def test_numbers_of_a_recording_are_no_switches(project, capsys):
    project("[record]\nfollow = true\n")
    assert main(["config", "show", "record"]) == 0
    assert "incprof.toml: record.follow" in capsys.readouterr().out
    project("[record]\ninterval = true\n")
    assert main(["config", "show", "record"]) == 2
    assert "record.interval: 'true' is wrong, expected a time such as" in capsys.readouterr().err


def test_show_prints_the_source_of_each_value(project, monkeypatch, capsys):
    project("[record]\ninterval = 0.5\n[phases]\nk = 3\n", "[record]\ninterval = 2\nlog = 'quiet'\n")
    monkeypatch.setenv("INCPROF_RATE", "200")
    assert main(["config", "show", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    found = {row["name"]: (row["value"], row["origin"]) for row in answer["settings"]}
    assert found["record.interval"] == ("0.5", "incprof.toml: record.interval")
    assert found["record.rate"] == ("200", "INCPROF_RATE")
    assert found["record.log"][0] == "quiet"
    assert found["record.log"][1].endswith("/home/incprof/config.toml: record.log")
    assert found["record.clock"] == ("by rate", "default")
    assert found["phases.k"] == ("3", "incprof.toml: phases.k")
    assert [file["exists"] for file in answer["files"]] == [True, True]


@pytest.mark.parametrize("verb", sorted(set(VERBS) - {"env", "config", "completion", "help"}))
def test_show_has_the_options_of_every_verb(project, verb, capsys):
    project()
    assert main(["config", "show", verb]) == 0
    shown = capsys.readouterr().out
    assert all(line.startswith(f"{verb}.") for line in shown.splitlines()[3:])
    assert "default" in shown


def test_show_refuses_what_is_no_verb(project, capsys):
    project()
    assert main(["config", "show", "magic"]) == 2
    assert "config show magic: no verb with settings" in capsys.readouterr().err
