"""Debug information in files of its own: linked by name, on a server, compressed, split and shared."""

import os
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from incprof.model import Module
from incprof.symbols import addr2line, symbol_files
from incprof.symbols.addr2line import chains, gap
from incprof.symbols.elf import open_elf
from incprof.symbols.symbol_files import binaries, find_symbols
from tests.integration.hosts import need

SOURCE = """
volatile double sum;
static inline __attribute__((always_inline)) void relax(int n) { for (int i = 0; i < n; i++) sum = sum * 2 + 1; }
int main(int n, char **v) { relax(n); relax(2 * n); return 0; }
"""


def compiled(place: Path, *flags: str) -> Path:
    need("gcc", "objcopy", "strip")
    place.mkdir(exist_ok=True)
    (place / "app.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O1", "-g", *flags, "app.c", "-o", "app"], cwd=place, check=True)
    return place / "app"


def inside(path: Path) -> list[int]:
    """Addresses in main."""
    table = find_symbols(module_of(path), str(path.parent)).table
    at = next(i for i in range(len(table)) if table.name(i) == "main")
    return list(range(int(table.address[at]), int(table.address[at] + table.size[at]), 4))


def module_of(path: Path) -> Module:
    return Module(0, str(path), open_elf(str(path)).build_id, 0, 0, True)


def names(path: Path, addresses: list[int]) -> set[str]:
    return {frame.function for chain in chains(str(path), addresses) for frame in chain}


@pytest.mark.parametrize("build_id", ["sha1", "none"])
@pytest.mark.parametrize("where", ["beside", ".debug", "root", "other"])
def test_linked_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build_id: str, where: str) -> None:
    app = compiled(tmp_path / "bin", f"-Wl,--build-id={build_id}")
    root = tmp_path / "root"
    monkeypatch.setattr(symbol_files, "ROOTS", (root,))
    place = {"beside": app.parent, ".debug": app.parent / ".debug", "root": root / app.parent.relative_to("/")}
    debug = place.get(where, app.parent) / "app.debug"
    debug.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["objcopy", "--only-keep-debug", app, debug], check=True)
    subprocess.run(["strip", app], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", app], check=True)
    if where == "other":  # another build of it
        compiled(tmp_path / "new", "-O2", f"-Wl,--build-id={build_id}")
        subprocess.run(["objcopy", "--only-keep-debug", tmp_path / "new" / "app", debug], check=True)
    found = find_symbols(module_of(app), str(tmp_path / "run"))
    assert (found.path == str(debug)) is (where != "other")
    assert found.table.exported_only is (where == "other")


def test_servers_are_used_where_they_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = compiled(tmp_path / "bin", "-Wl,--build-id=sha1")
    build_id = open_elf(str(app)).build_id
    debug = tmp_path / "served" / "buildid" / str(build_id) / "debuginfo"
    debug.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", app, debug], check=True)
    subprocess.run(["strip", app], check=True)
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, _: str, *words: object) -> None:
            asked.append(str(words[0]))

    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache"))
    monkeypatch.delenv("DEBUGINFOD_URLS", raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path / "served"))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        assert find_symbols(module_of(app), str(tmp_path)).table.exported_only
        assert not asked
        monkeypatch.setenv("DEBUGINFOD_URLS", f"{url}/nothing/ {url}")
        found = find_symbols(module_of(app), str(tmp_path))
        assert found.path == str(tmp_path / "cache" / str(build_id) / "debuginfo")
        assert Path(found.path).read_bytes() == debug.read_bytes()
        often = len(asked)
        assert find_symbols(module_of(app), str(tmp_path)).path == found.path
        other = Module(0, str(app), "ab" * 20, 0, 0, True)
        for _ in range(2):
            assert not list(binaries(other, str(tmp_path), fetch=True))
        assert len(asked) == often + 2 * 2  # once each: a request, and the line on its error
        server.shutdown()
    monkeypatch.setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1")
    assert symbol_files.fetched("cd" * 20) is None


@pytest.mark.parametrize("kind", ["none", "zlib", "zlib-gnu", "zstd"])
@pytest.mark.parametrize("tool", ["llvm", "binutils", "both"])
def test_compressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, tool: str) -> None:
    """The first working tool answers; without one, a line gives the reason for missing lines."""
    app = compiled(tmp_path)
    addresses, packed = inside(app), tmp_path / "packed"
    if subprocess.run(["objcopy", f"--compress-debug-sections={kind}", app, packed], check=False).returncode != 0:
        pytest.skip(f"objcopy cannot compress by {kind}")
    for unwanted, name in (("llvm", "_LLVM"), ("binutils", "_BINUTILS")):
        if tool not in (unwanted, "both"):
            monkeypatch.setattr(addr2line, name, ("no-such-tool",))
    need({"llvm": "llvm-symbolizer", "binutils": "addr2line", "both": "addr2line"}[tool])
    found = chains(str(packed), addresses)
    assert len(found) == len(addresses)
    line = gap(open_elf(str(packed)), found)
    if tool == "llvm" and line is not None:  # one that is too old
        assert f"compressed ({kind})" in line
        assert not any(found)
    else:
        assert {"main", "relax"} == {frame.function for chain in found for frame in chain}


def test_split(tmp_path: Path) -> None:
    need("llvm-symbolizer")
    app = compiled(tmp_path, "-gsplit-dwarf")
    addresses = inside(app)
    line = gap(open_elf(str(app)), chains(str(app), addresses))
    # LLVM 14 does not know the ranges of gcc 12.
    assert names(app, addresses) == {"main", "relax"} if line is None else "no tool here reads all of them" in line
    parts = list(tmp_path.glob("*.dwo"))
    for part in parts:
        part.rename(tmp_path / "gone")
    line = gap(open_elf(str(app)), chains(str(app), addresses))
    assert line is not None
    assert f"{parts[0]} is not here" in line


@pytest.mark.parametrize("shared", ["common.dwz", "../.dwz/common.dwz"])
def test_shared_with_others(tmp_path: Path, shared: str) -> None:
    need("dwz", "addr2line")
    app = compiled(tmp_path / "bin")
    addresses = inside(app)
    shutil.copy(app, app.parent / "copy")
    (app.parent / shared).parent.mkdir(exist_ok=True)
    subprocess.run(["dwz", "-m", shared, "-M", shared, "app", "copy"], cwd=app.parent, check=True)
    assert names(app, addresses) == {"main", "relax"}
    os.unlink(app.parent / shared)
    line = gap(open_elf(str(app)), chains(str(app), addresses))
    assert line is None or "(dwz)" in line
