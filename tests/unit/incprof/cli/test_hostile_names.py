"""Runs with hostile names: no name acts on a terminal, and every verb accepts them."""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import pytest

from incprof.cli.main import main
from incprof.command.output import write_bytes
from incprof.safe.printable import printable, printable_lines
from tests.unit.ekgfiles import EkgFile, beats
from tests.unit.incprof.systems.openmp.test_loop_file import FUNCTION, REGION, START, state
from tests.unit.streamwriter import BASE, BUILD_ID, STEP, Sample, StreamWriter, module

ESCAPES = "\x1b[31m\x1b]0;title\x07\x9b2J\u202e\u2066\x7f\r\n\x00\udc80\ud800"
NAME = f"na{ESCAPES}me"


def nasty_run(directory: Path, source: Path) -> Path:
    """Two phases of 20 intervals, every text of the metadata and of the lines looked up before with escapes."""
    functions = ["main", "solve", "write_out"]
    path = f"{source}/ap{ESCAPES}p"
    writer = StreamWriter(
        functions, app=NAME, exe=path, argv=[NAME], cwd=NAME, host=NAME, launch=NAME, tool=NAME,
        modules=[module(0, path, BUILD_ID, app=True, high=BASE + STEP * 3), module(7, f"/lib/{NAME}", None, app=False)],
    )  # fmt: skip
    for i in range(20):
        leaf = f"main;{functions[1 + i // 10]}"
        samples = [Sample(leaf, weight=88 + i % 3), Sample("main", weight=2), Sample(leaf, 1, weight=10)]
        writer.interval(samples, arcs={("main", functions[1 + i // 10]): 5})
    writer.end()
    writer.save(directory)
    file = f"{source}/{NAME}.c"
    addresses = {f"{BASE + STEP * i + offset:#x}" for i in range(3) for offset in (0, 0x10)}
    chains = {at: [[f"inner{ESCAPES}", f"/in{ESCAPES}.h", 3], [functions[1], file, 7]] for at in addresses}
    (directory / f"symbols/{BUILD_ID}.json").write_text(json.dumps({"version": 3, "chains": chains}))
    return directory


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    nasty_run(tmp_path / "run", tmp_path / "src")
    for name in ("app.c", "na\x1b[31m\u202eme.c"):
        text = "".join(f"void {name}(void)\n{{\n\twork();\n}}\n" for name in ("solve", "write_out"))
        (tmp_path / "src" / name).write_text(f"{text}int main(void)\n{{\n\tsolve();\n}}\n")
    rows = beats(0, 1, [5 * 10**8])
    EkgFile(metadata={"app": NAME, "host": NAME, "exe": NAME, "argv": [NAME], "launch": NAME}).beat(1, NAME).interval(
        rows
    ).end().save(tmp_path / "ekg/rank-00000.ekg")
    (tmp_path / "sa").mkdir()
    records = [START | {"app": NAME}, FUNCTION | {"module": f"/{NAME}"}, REGION | {"name": NAME}, state(5)]
    (tmp_path / "sa/rank-00000.sa").write_text("".join(json.dumps(record) + "\n" for record in records))
    (tmp_path / "series.csv").write_text("time,a\x1b[31m\u202eb\n" + "".join(f"{i},{i % 7}\n" for i in range(300)))
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = main([str(word) for word in words])
    out, err = capsys.readouterr()
    for text in (out, err):
        assert re.sub(r"[\n\t\u00a0\u202f]", "", text).isprintable(), ascii(text)
    assert "internal error" not in err
    return status, out, err


@pytest.mark.parametrize(
    "words",
    [
        ["phases", "run"], ["phases", "run", "--explain"], ["phases", "run", "--json"], ["top", "--once", "run"],
        ["top", "--plain", "run"], ["top", "--plain", "--json", "run"], ["diff", "run", "run", "--all"],
        ["diff", "run", "run", "--markdown"], ["diff", "run", "run", "--json"], ["sites", "run", "--source", "src"],
        ["sites", "run", "--source", "src", "--json", "--allow-changed"], ["report", "run", "-o", "-"],
        ["report", "run", "--source", "src", "--heartbeats", "ekg", "-o", "-"],
        ["instrument", "run", "--source", "src"], ["instrument", "run", "--source", "src", "--site", NAME],
        ["export", "run", "--format", "csv"],
        ["export", "run", "--format", "csv", "--table", "samples"],
        ["export", "run", "--format", "csv", "--table", "sites"], ["export", "run", "--format", "folded"],
        ["export", "run", "--format", "speedscope"], ["export", "run", "--format", "trace", "--heartbeats", "ekg"],
        ["export", "run", "--format", "hatchet"], ["validate", "run", "ekg"], ["validate", "run", "ekg", "--json"],
        ["heartbeats", "ekg"], ["heartbeats", "ekg", "--json"], ["heartbeats", "ekg", "--csv", "-"],
        ["heartbeats", "ekg", "ekg"], ["heartbeats", "ekg", "--history", "history"], ["selfanalyze", "sa"],
        ["selfanalyze", "--json", "sa"], ["periods", "series.csv"], ["periods", "series.csv", "--json"],
        ["periods", "run", "--column", NAME], ["periods", "ekg", "--column", NAME], ["check", NAME],
        ["phases", NAME], ["heartbeats", NAME], ["selfanalyze", NAME], ["periods", NAME], [NAME],
        ["phases", f"--{NAME}"],
        ["record", "-i", NAME, "--", "true"], ["phases", "run", "--exe", NAME], ["export", "run", "--format", NAME],
    ],
    ids=lambda words: ascii(" ".join(words)),
)  # fmt: skip
def test_nothing_that_is_not_printable_is_printed(
    words: list[str], place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("COLUMNS", "400")
    _, out, _ = told(capsys, *words)
    if out and "--json" in words:
        for line in out.splitlines() if "--plain" in words else [out]:
            json.loads(line)


@pytest.mark.parametrize("form", ["csv", "folded", "speedscope", "trace", "hatchet", "parquet"])
def test_exports_are_written(form: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    status, _, _ = told(capsys, "export", place / "run", "--format", form, "-o", place / "file")
    data = (place / "file").read_bytes()
    assert (status, len(data) > 100) == (0, True)
    if form != "parquet":
        assert data.decode("utf-8").replace("\n", "").isprintable()


def test_heartbeat_tables_are_written(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    files = [word for form in ("csv", "parquet", "sqlite") for word in (f"--{form}", place / f"file.{form}")]
    assert told(capsys, "heartbeats", place / "ekg", *files, "--plot", place / "plot.svg")[0] == 0


def test_pages_hold_nothing_to_be_escaped() -> None:
    """What is escaped in a script would be another script than the one whose sum the page holds."""
    for path in files("incprof.report").joinpath("page").rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            text = path.read_text(encoding="utf-8")
            assert text == printable_lines(text), path


def test_colours_get_through_and_names_do_not(place: Path) -> None:
    """On a terminal: the tool's colours, and escape sequences in names."""
    words = [sys.executable, "-m", "incprof", "phases", str(place / "run")]
    terminal, far = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(words, stdout=far, stderr=far, stdin=far, env=environment) as process:
        os.close(far)
        shown = b""
        with suppress(OSError):  # at the end of the other side
            while piece := os.read(terminal, 1 << 16):
                shown += piece
    os.close(terminal)
    text = shown.decode()
    assert (process.returncode, "\x1b[" in text, r"na\x1b[31m\x1b]0;title" in text) == (0, True, True)
    plain = re.sub(r"\x1b\[[0-9;]*[mK]", "", text)
    assert re.sub(r"[\r\n]", "", plain).isprintable()


def test_a_patch_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As bytes elsewhere, so that it can be applied."""
    patch = b"-caf\xe9 \x1b[31m\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    write_bytes("-", lambda out: out.write(patch))
    assert capsys.readouterr().out == "-caf\\udce9 \\x1b[31m\n"


@pytest.mark.parametrize("text", ["plain", "grüße 日本 😀", "tab\tline\n", "1\u202f500\u00a0%"])
def test_text_that_is_printable_stays(text: str) -> None:
    assert printable_lines(text) == text


@pytest.mark.parametrize(
    "character", "\x00\x07\x1b\r\x7f\x85\x9b\xad\u061c\u200b\u200f\u2028\u202e\u2066\ud800\U000e0001"
)
def test_characters_that_act_are_escaped(character: str) -> None:
    escaped = printable(character)
    assert (escaped.isascii(), escaped.isprintable(), printable_lines(character)) == (True, True, escaped)
    if character >= " ":  # which JSON allows in its strings: its texts say the same afterwards
        assert json.loads(f'"{escaped}"') == character


def test_links_and_texts_of_sources(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file that the run names is not there; the one that is there may have any name."""
    shutil.rmtree(place / "src")
    (place / "src").mkdir()
    status, _, err = told(capsys, "instrument", place / "run", "--source", place / "src")
    assert (status, "refused" in err) == (4, True)
