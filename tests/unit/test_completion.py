"""The completion scripts, tried in the shells themselves, and the manual pages."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from incprof.cli import main
from incprof.verbs import VERBS

MAN = Path(__file__).parents[2] / "docs/man"
BASH = """
source "$1"
function=$(complete -p incprof | sed 's/.*-F \\([^ ]*\\).*/\\1/')
shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
$function
printf '%s\\n' "${COMPREPLY[@]}"
"""
CASES = [
    (["ph"], {"phases"}),
    (["phases", "--me"], {"--method"}),
    (["phases", "--method", "p"], {"paper"}),
    (["record", "--clock", "p"], {"perf"}),
    (["export", "--format", "s"], {"speedscope"}),
    (["phases", "gm"], {"gmon-app"}),
    (["record", "-o", "run", "./a"], {"./app"}),
]


@pytest.fixture
def script(tmp_path, capsys):
    """Makes the script for a shell, and a directory in which there is something to complete."""
    (tmp_path / "here/gmon-app").mkdir(parents=True)
    (tmp_path / "here/app").touch()
    (tmp_path / "here/gmon.txt").touch()

    def make(shell):
        assert main(["completion", shell]) == 0
        path = tmp_path / f"incprof.{shell}"
        path.write_text(capsys.readouterr().out)
        return path, tmp_path / "here"

    return make


@pytest.mark.parametrize(("words", "expected"), CASES)
def test_bash(script, words, expected):
    path, here = script("bash")
    command = ["bash", "--norc", "-c", BASH, "bash", path, "incprof", *words]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == expected


@pytest.mark.skipif(not shutil.which("fish"), reason="there is no fish here")
@pytest.mark.parametrize(("words", "expected"), CASES)
def test_fish(script, words, expected):
    path, here = script("fish")
    ask = f"source {path}; complete -C 'incprof {' '.join(words)}'"
    done = subprocess.run(["fish", "--no-config", "-c", ask], cwd=here, capture_output=True, text=True, check=True)
    assert {line.split("\t")[0].rstrip("/") for line in done.stdout.splitlines()} == expected


@pytest.mark.skipif(not shutil.which("zsh"), reason="there is no zsh here")
def test_zsh(script):
    path, here = script("zsh")
    path.rename(here / "_incprof")
    load = (
        f"fpath=({here} $fpath); autoload -Uz compinit; compinit -u -D; autoload +X _incprof && print $_comps[incprof]"
    )
    subprocess.run(["zsh", "-f", "-n", here / "_incprof"], check=True)
    done = subprocess.run(["zsh", "-f", "-c", load], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("_incprof\n", "")


def test_a_shell_that_is_not_known_is_refused(capsys):
    assert main(["completion", "csh"]) == 2
    assert "invalid choice: 'csh'" in capsys.readouterr().err


@pytest.fixture
def generator():
    spec = importlib.util.spec_from_file_location("generate", MAN / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# argparse words its usage differently from 3.13 on.
@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the pages are made with Python 3.11 or 3.12")
def test_the_manual_pages_are_those_of_the_command_line(generator):
    written = {path.name: path.read_text() for path in MAN.glob("*.1")}
    assert generator.pages() == written, "make man"
    assert set(written) == {"incprof.1", *(f"incprof-{verb}.1" for verb in VERBS)}


@pytest.mark.skipif(not shutil.which("groff"), reason="there is no groff here")
def test_groff_has_nothing_to_say_about_the_pages():
    for path in MAN.glob("*.1"):
        done = subprocess.run(["groff", "-man", "-ww", "-z", path], capture_output=True, text=True, check=True)
        assert done.stderr == ""
