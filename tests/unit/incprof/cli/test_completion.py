"""The completion scripts, tried in the shells themselves, and the manual pages."""

import importlib.util
import os
import pty
import re
import select
import shutil
import subprocess
import sys

import pytest

from incprof.cli.main import main
from incprof.cli.parser import VERBS
from tests.paths import ROOT

MAN = ROOT / "docs/man"
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
    (["--debug", "phases", "gm"], {"gmon-app"}),
    (["config", "show", "phases", "ex"], {"export"}),
    (["help", "com"], {"completion"}),
    (["diff", "gmon-app", "gm"], {"gmon-app"}),
]
# bash hands on the sign as a word.
EQUALS = [
    (["phases", "--method", "=", "p"], {"paper"}),
    (["record", "--clock", "="], {"cpu", "perf"}),
    (["record", "--clock", "=", "perf", "--log", "q"], {"quiet"}),
    (["phases", "--method", "=", "paper", "gm"], {"gmon-app"}),
]
ZSH = """
fpath=({here} $fpath); autoload -Uz compinit; compinit -u -D
tell() {{ print -r -- "@@$BUFFER@@"; BUFFER=""; zle .accept-line }}
zle -N tell; bindkey '^X' tell; bindkey '^I' complete-word; setopt no_list_ambiguous; PS1=; cd {here}; print @@ready@@
"""


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


@pytest.mark.parametrize(("words", "expected"), CASES + EQUALS)
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


class Zsh:
    """A zsh at a terminal, in which lines are completed."""

    def __init__(self, here):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb"})
        setup = here.parent / "setup.zsh"
        setup.write_text(ZSH.format(here=here))
        os.write(self.terminal, f"source {setup}\r".encode())
        assert self.told() == "ready"

    def told(self):
        """What stands between the marks that come next."""
        shown = ""
        while not (found := re.search("@@([^@]*)@@", shown)):
            assert select.select([self.terminal], [], [], 600)[0], shown
            shown += os.read(self.terminal, 65536).decode(errors="replace")
        return found[1]

    def completed(self, line):
        """The line after TAB."""
        os.write(self.terminal, f"{line}\t\x18".encode())
        return self.told().rstrip(" /")

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("zsh"), reason="there is no zsh here")
def test_zsh(script):
    path, here = script("zsh")
    path.rename(here / "_incprof")
    shell = Zsh(here)
    try:
        for words, expected in CASES:
            (word,) = expected
            found = shell.completed(f"incprof {' '.join(words)}")
            # A value may follow the sign, which goes away when a space is typed.
            assert found.rstrip("=") == f"incprof {' '.join([*words[:-1], word])}"
        assert shell.completed("incprof phases --method=p") == "incprof phases --method=paper"
        assert shell.completed("incprof record --output=gm") == "incprof record --output=gmon-app"
    finally:
        shell.close()


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
def test_groff_accepts_the_pages():
    for path in MAN.glob("*.1"):
        done = subprocess.run(["groff", "-man", "-ww", "-z", path], capture_output=True, text=True, check=True)
        assert done.stderr == ""
