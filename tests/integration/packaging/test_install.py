"""Every way in which incprof is installed: wheel, sdist, and CMake without Python."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.slow

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
OFFLINE = ["--no-build-isolation", "--no-deps", "--no-index"]


def run(*words: object, **options: object) -> str:
    done = subprocess.run(
        list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the files in git, so that an installation cannot depend on any other."""
    copy = tmp_path_factory.mktemp("source") / "incprof"
    names = run("git", "-C", ROOT, "ls-files", "-z").split("\0")
    for name in filter(None, names):
        source, target = ROOT / name, copy / name
        if source.is_symlink() or source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    return copy


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    run(*PIP, "wheel", *OFFLINE, "-w", out, checkout)
    return next(out.glob("*.whl"))


def in_wheel(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_one_wheel_serves_every_python(wheel: Path) -> None:
    assert "-py3-none-linux_" in wheel.name


def test_the_wheel_holds_the_library_and_the_analysis(wheel: Path) -> None:
    names = in_wheel(wheel)
    wanted = {"incprof/_lib/libincprof.so", "incprof/analysis/__init__.py", "incprof/py.typed", "incprof/cli/main.py"}
    assert wanted <= names
    assert {
        "incprof/_lib/incprof-sampler",
        "incprof/_lib/incprof-attach",
        "incprof/_lib/libincprof_native.so",
        "incprof/include/dpd.h",
        "incprof/_lib/pkgconfig/dpd.pc",
    } <= names
    page = {path.relative_to(ROOT).as_posix() for path in (ROOT / "incprof/report/page/assets").rglob("*.*")}
    assert (
        {"incprof/report/page/assets/page.html.j2", "incprof/report/page/assets/uplot/uPlot.iife.min.js"}
        <= page
        <= names
    )
    assert not [name for name in names if name.startswith("incprof/analysis/native")]
    heartbeats = {"__init__.py", "py.typed", "_lib/libappekg.so", "_lib/libappekg.so.1", "_lib/libappekg.a"}
    heartbeats |= {"include/appekg.h", "fortran/appekg.f90", "fortran/appekg_fortran.h", "_lib/pkgconfig/appekg.pc"}
    assert {f"appekg/{name}" for name in heartbeats} <= names
    assert not [name for name in names if name.startswith("appekg/") and name.endswith((".c", ".txt", ".in"))]
    assert not [name for name in names if name.startswith(("analysis/", "tests/", "benchmarks/", "preload/"))]


def test_the_sdist_builds_the_same_wheel(checkout: Path, wheel: Path, tmp_path: Path) -> None:
    build = "import scikit_build_core.build as b, sys; print(b.build_sdist(sys.argv[1]))"
    run(sys.executable, "-c", build, tmp_path, cwd=checkout)
    sdist = next(tmp_path.glob("*.tar.gz"))
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"incprof/analysis/__init__.py", "preload/CMakeLists.txt", "CMakeLists.txt", "LICENSE"} <= names
    assert {"appekg/src/api.c", "appekg/cmake/install.cmake", "runtime/CMakeLists.txt"} <= names
    run(*PIP, "wheel", *OFFLINE, "-w", tmp_path, sdist)
    assert in_wheel(next(tmp_path.glob("*.whl"))) == in_wheel(wheel)


def test_an_installed_wheel_records(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    run(*PIP, "install", "--no-deps", "--no-index", "--target", site, wheel)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    environment.pop("INCPROF_LIB", None)
    # -S: the packages of this environment, where incprof may be installed too, stay out of sight.
    incprof = [sys.executable, "-S", "-m", "incprof"]
    library = run(*incprof, "env", "--libpath", cwd=tmp_path, env=environment).strip()
    assert library == str(site / "incprof/_lib/libincprof.so")
    page = run(*incprof, "help", "phases", cwd=tmp_path, env=environment)
    assert page == (ROOT / "docs/use/phases.md").read_text()
    program = tmp_path / "phases"
    run("gcc", "-O1", "-pg", ROOT / "examples/phases.c", "-o", program)
    run(*incprof, "record", "-i", "0.1", "-o", "run", "--", program, "0.01", cwd=tmp_path, env=environment)
    assert (tmp_path / "run/rank-00000.gmon").read_bytes()[:4] == b"gmon"


HEARTBEATS = """
#include <appekg.h>
int main(void)
{
    for (int i = 0; i < 100; i++) {
        EKG_SCOPE(1);
    }
    return 0;
}
"""


# What Python does at its start in a virtual environment, of which only `site` is to be seen: it runs the .pth files.
START = """
import runpy, site, sys
site.addsitedir({site!r})
del sys.argv[0]
if sys.argv[0] == "-m":
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
else:
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


def check_heartbeats(python: list[object], environment: dict[str, str], place: Path) -> str:
    """Build a program by what `incprof env` prints, run it, and run a Python one. Returns the link flags."""
    (place / "beat.c").write_text(HEARTBEATS)
    flags = run(*python, "-m", "incprof", "env", "--cflags", "--libs", cwd=place, env=environment)
    run("sh", "-c", f"gcc beat.c {flags.strip()} -o beat", cwd=place)
    run(place / "beat", cwd=place, env={**os.environ, "EKG_DIR": "c"})
    code = "import appekg\nfor _ in range(100):\n    with appekg.beat(1): pass\n"
    (place / "beat.py").write_text(code)
    run(*python, "beat.py", cwd=place, env={**environment, "EKG_DIR": "python"})
    for directory in ("c", "python"):
        text = (place / directory / "rank-00000.ekg").read_text()
        assert sum(int(line.split(",")[3]) for line in text.splitlines() if line.startswith("0,0,1,")) == 100
        assert "\n#end " in text
    return flags


def test_an_installed_wheel_has_heartbeats(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    run(*PIP, "install", "--no-deps", "--no-index", "--target", site, wheel)
    import _cffi_backend

    (tmp_path / "cffi").mkdir()
    shutil.copy2(_cffi_backend.__file__, tmp_path / "cffi")
    environment = {**os.environ, "PYTHONPATH": f"{site}:{tmp_path / 'cffi'}"}
    environment.pop("APPEKG_LIB", None)
    # -S: the packages of this environment stay out of sight.
    flags = check_heartbeats([sys.executable, "-S"], environment, tmp_path)
    assert f"-L{site}/appekg/_lib" in flags
    assert f"-I{site}/appekg/include" in flags


def test_an_editable_installation_has_heartbeats(checkout: Path, tmp_path: Path) -> None:
    """The package stays in the checkout, what was built lies in site-packages."""
    build = "import scikit_build_core.build as b, sys; print(b.build_editable(sys.argv[1]))"
    run(sys.executable, "-c", build, tmp_path, cwd=checkout)
    site = tmp_path / "site"
    run(*PIP, "install", "--no-deps", "--no-index", "--target", site, next(tmp_path.glob("*.whl")))
    import _cffi_backend

    shutil.copy2(_cffi_backend.__file__, site)
    environment = {name: value for name, value in os.environ.items() if name not in {"APPEKG_LIB", "PYTHONPATH"}}
    start = tmp_path / "start.py"
    start.write_text(START.format(site=str(site)))
    python = [sys.executable, "-S", start]
    flags = check_heartbeats(python, environment, tmp_path)
    assert f"-L{site}/appekg/_lib" in flags
    assert "/appekg/include" in flags


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")
def test_cmake_alone_installs_the_library(checkout: Path, tmp_path: Path) -> None:
    build, prefix = checkout / "build/plain", tmp_path / "prefix"
    run("cmake", "-S", checkout, "-B", build, "-DCMAKE_BUILD_TYPE=RelWithDebInfo")
    run("cmake", "--build", build, "-j2")
    run("cmake", "--install", build, "--prefix", prefix)
    libraries = list(prefix.rglob("libincprof.so"))
    assert len(libraries) == 1
    assert libraries[0].relative_to(prefix).parts[0] in {"lib", "lib64"}
    assert (libraries[0].parent / "libappekg.so.1").is_file()
    assert (prefix / "include/appekg.h").is_file()
    # The loader finds a bare name where it looks.
    environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries[0].parent), "LD_PRELOAD": "libincprof.so"}
    assert run("true", env=environment) == ""
    check_detector(prefix, libraries[0].parent)


def check_detector(prefix: Path, libraries: Path) -> None:
    """Build a program with the periodicity detector, by pkg-config where there is one."""
    source = prefix / "period.c"
    source.write_text(
        "#include <dpd.h>\n#include <stdio.h>\n"
        "int main(void) { int period; for (int i = 0; i < 50; i++) DPD(i % 7, &period); return period != 7; }\n"
    )
    flags = f"-I{prefix}/include -L{libraries} -lincprof_native"
    if shutil.which("pkg-config") is not None:
        environment = {**os.environ, "PKG_CONFIG_PATH": str(libraries / "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "dpd", env=environment)
    run("gcc", source, "-o", prefix / "period", *flags.split(), f"-Wl,-rpath,{libraries}")
    run(prefix / "period")
