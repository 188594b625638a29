"""Commands on the pages of the documentation: the command line takes all of them, and those that can be run are."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from incprof.cli.parser import VERBS, verb_parser
from tests.paths import ROOT
from tests.recordings.kept import kept

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MARKDOWN = MarkdownIt().enable("table")
# How a command begins that is shown without a prompt, by itself or after what it sets in the environment.
SET, PROGRAM = r"(?:\w+=(?:\$\(.*?\)|\S)* )*", r"incprof(?! trace:)|some-\w+|\./\w+"
OTHERS = "eval|for|gcc|gfortran|mpicc|mpirun|srun|dask|python|perf|strace"
TYPED = re.compile(f"{SET}(?:{PROGRAM}|{OTHERS}) ")
USAGE = re.compile(r"(?:^|[ \[])\[|\.\.\.|\w\|[\w-]|\bVERB\b")


def blocks(page: Path) -> Iterator[list[str]]:
    """The code blocks of a page that name no language but the shell."""
    for token in MARKDOWN.parse(page.read_text()):
        if token.type in ("fence", "code_block") and token.info in ("", "sh"):
            yield token.content.splitlines()


def named(page: Path) -> list[str]:
    """What stands as code within sentences."""
    children = [child for token in MARKDOWN.parse(page.read_text()) for child in token.children or ()]
    return [child.content for child in children if child.type == "code_inline"]


def shown(page: Path) -> list[str]:
    """The commands on a page, in their order; of a block with prompts, what is typed at them. Usage goes on below."""
    found: list[str] = []
    for block in blocks(page):
        if any(line.startswith("$ ") for line in block):
            found += [line[2:] for line in block if line.startswith("$ ")]
        elif block and TYPED.match(block[0] + " "):
            for line in block:
                if line.startswith("  "):
                    found[-1] += " " + line.strip()
                elif TYPED.match(line + " "):
                    found.append(line)
    return found


def typed(command: str) -> str:
    """Return a command without the comment behind it."""
    return re.split(r" {3,}| +# ", command)[0].rstrip()


def calls(command: str) -> Iterator[list[str]]:
    """The words after each `incprof` of a command, also within `$(...)` and after `--`."""
    for inner in re.findall(r"\$\(([^()]*)\)", command):
        yield from calls(inner)
    words = shlex.shlex(re.sub(r"\$\([^()]*\)", "/value", command), posix=True, punctuation_chars=True)
    words.whitespace_split = True
    words.commenters = ""
    given: list[list[str]] = []
    for word in words:
        if set(word) <= set("|&;()<>"):
            given = []
        else:
            for call in given:
                call.append(word)
            if word == "incprof":
                given.append([])
                yield given[-1]


def options(verb: str) -> set[str]:
    """All options of a verb."""
    return {option for action in verb_parser(verb)._actions for option in action.option_strings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_command_line_takes_what_is_shown(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in shown(page):
        if USAGE.search(typed(command)):
            check_names(command)
            continue
        for verb, *words in [call for call in list(calls(typed(command))) if call and call[0] in VERBS]:
            parser = verb_parser(verb)
            parser.allow_abbrev = False  # as in incprof itself
            try:
                parser.parse_args(words)
            except SystemExit:
                pytest.fail(f"{page.name}: {command}: {capsys.readouterr().err}")
    for text in named(page):
        check_names(text)


def check_names(text: str) -> None:
    """Verbs and options of usage, and of what is named within sentences."""
    for called in re.findall(r"(?:^|[ (])incprof ([a-z].*?)(?= -- |$|#)", text):
        verb, *words = called.rstrip(")").split()
        assert verb in VERBS, text
        given = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", " ".join(words)))
        assert given <= options(verb), f"{text}: {given - options(verb)}"


# What is not typed here, and why.
ELSEWHERE = {
    "*mpirun *": "record/test_mpi.py and trace/test_signature.py run programs of several ranks",
    "srun *": "there is no Slurm",
    "mpicc *": "appekg/test_mpi.py",
    "incprof check --hot *": "of a program with hot calls: incprof/cli/test_hot.py",
    "incprof dna *": "takes counters of several runs: systems/nodes/test_verb.py",
    "incprof clean *": "of a reader's run: incprof/cli/test_clean.py",
    "incprof merge run*": "of several nodes of one launch: incprof/cli/test_merge.py",
    "incprof phases run*": "of the line before it",
    "incprof record *-- python3 *": "preload/test_python_programs.py",
    "incprof record -- ./job.sh": "stands for a script of the reader's: incprof/record/test_jobs.py",
    "incprof record -- make *": "stands for a build of the reader's: incprof/record/test_jobs.py",
    "incprof record -- timeout *": "stands for a program of the reader's",
    "incprof record -p *": "of a process that runs: outside/test_attach.py",
    "incprof record --external *": "where perf is permitted: outside/test_attach.py",
    "incprof top run*": "of the line before it: outside/test_attach.py",
    "incprof signature run*": "of a traced run of several ranks: trace/test_signature.py",
    "incprof trace --show run*": "trace/test_trace.py",
    "dask *": "incprof/study/test_engines.py",
    "incprof phases gmon-app --dask*": "incprof/study/test_engines.py",
    "python benchmarks/*": "takes minutes",
    "perf stat *": "perf is of a kernel",
    "perf record *": "perf is of a kernel: incprof/cli/test_import.py",
    "incprof import perf.data *": "of the line before it",
    "strace *": "strace may not be there",
    "incprof periods --follow ipc.csv*": "waits for more to come: incprof/cli/test_periods_follow.py",
    "incprof completion zsh*": "in a zsh: incprof/cli/test_completion.py",
    "incprof diff gmon-a gmon-b --counters*": "needs a power sensor: analysis/test_energy.py",
    "incprof heartbeats ekg-base ekg-new --fail-on*": "times would decide: systems/heartbeats/test_gates.py",
    'incprof heartbeats "$EKG_DIR" --history*': "times would decide: systems/heartbeats/test_history_verb.py",
    "incprof heartbeats poor --history*": "times would decide: systems/heartbeats/test_history_verb.py",
    "incprof instrument run --source . --write*": "of a program in Python: preload/test_python_programs.py",
    "incprof heartbeats ekg": "of the line before it",
    "incprof instrument gmon-app --source . --check*": "a reader's Makefile: source/test_compile_check.py",
    "incprof sample -o run.csv -- ./alternate*": "outside/test_sample.py",
    "incprof periods run.csv*": "of the line before it",
    "incprof periods node1.csv --sub-profiles*": "of a series with times: systems/periods/test_verb.py",
    "OMP_NUM_THREADS=*": "selfanalyze/test_selfanalyze.py",
    "incprof record -i 0.25 -o gmon-phases*": "incprof/cli/test_validate.py",
    "EKG_INTERVAL=0.2 EKG_DIR=ekg-phases*": "incprof/cli/test_validate.py",
    "incprof validate gmon-phases*": "incprof/cli/test_validate.py",
    "gfortran *": "gfortran is not installed",
}


def elsewhere(command: str) -> str | None:
    """Return the entry of the table that excludes a command."""
    found = next((form for form in ELSEWHERE if fnmatchcase(command, form)), None)
    return None if found == "gfortran *" and shutil.which("gfortran") else found


def to_type(page: Path) -> list[str]:
    """What of a page is typed."""
    commands = [typed(command) for command in shown(page)]
    commands = [command for command in commands if not USAGE.search(command) and not elsewhere(command)]
    # A command line without a verb ends with 2.
    return ["incprof || test $? = 2" if command == "incprof" else command for command in commands]


def code(page: str, language: str) -> str:
    """The first block of code in a language on a page."""
    found = re.search(rf"^```{language}\n(.*?)^```", (ROOT / f"docs/{page}.md").read_text(), re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def bash(lines: list[str], place: Path) -> str:
    """Run a shell that ends where a command fails, without waiting for its background processes."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("INCPROF_", "EKG_"))}
    env |= {"PATH": f"{Path(sys.executable).parent}:{env['PATH']}", "HOME": str(place), "INCPROF_INTERVAL": "50ms"}
    done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", "\n".join([*lines, "wait"])], cwd=place, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, f"{lines}: {done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with what the pages speak of: programs, their source, recordings, heartbeats, series."""
    place = tmp_path_factory.mktemp("made")
    source = (ROOT / "examples/phases.c").read_text()
    assert source.count(": 1.0;") == 1
    (place / "phases.c").write_text(source.replace(": 1.0;", ": 0.1;"))
    solver = f"static int sweeps = 3;\nstatic void sweep(int i) {{ (void)i; }}\n{code('use/appekg', 'c')}"
    (place / "solver.c").write_text(f"{solver}\nint main(void)\n{{\n    solve();\n}}\n")
    (place / "app.c").write_text((place / "solver.c").read_text())
    (place / "solver.f90").write_text(code("use/appekg", "fortran") + "subroutine assemble()\nend subroutine\n")
    (place / "app.f90").write_text((place / "solver.f90").read_text())
    (place / "driver.py").write_text(code("learn/python-driver", "python"))
    # A kept recording has the same answers, however busy this machine is.
    kept("phases", tmp_path_factory.mktemp("kept")).run.rename(place / "gmon-phases")
    (place / ".config/fish/completions").mkdir(parents=True)
    (place / "calls.txt").write_text("open\nread\nread\nclose\n" * 100)
    (place / "ipc.csv").write_text("ipc\n" + ("1.0\n" * 10 + "2.0\n" * 10) * 40)
    bash([
        "gcc -O2 -g -pg phases.c -o phases",
        "gcc solver.c $(incprof env --cflags --libs) -o solver",
        "cp phases app; cp solver heartbeats-cpp; cp calls.txt hydro2d.txt",
        "cp ipc.csv node1.csv; cp ipc.csv excerpt.csv",
        "cp -r gmon-phases gmon-old; cp -r gmon-phases gmon-new",
        "EKG_DIR=ekg-app ./solver",
    ], place)  # fmt: skip
    return place


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.stem)
def test_what_is_shown_can_be_typed(page: Path, made: Path, tmp_path: Path) -> None:
    """Those of the README are typed by test_readme.py, with a look at what they say."""
    if not to_type(page):
        pytest.skip("the page shows no commands that can be typed here")
    place = tmp_path / "place"
    shutil.copytree(made, place)
    commands = to_type(page)
    if not any("record -o gmon-app" in command for command in commands):
        shutil.copytree(made / "gmon-phases", place / "gmon-app")
    bash(commands, place)


def test_entries_of_the_table_are_on_a_page() -> None:
    commands = [typed(command) for page in PAGES[1:] for command in shown(page)]
    for form, reason in ELSEWHERE.items():
        assert any(fnmatchcase(command, form) for command in commands), form
        for name in re.findall(r"[\w/]*test_\w+\.py", reason):
            assert list((ROOT / "tests").rglob(name)), name
