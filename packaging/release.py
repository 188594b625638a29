"""`make release`: what is given out, in build/release/dist, of the committed state. Twice the same bytes.

    incprof-VERSION.tar.gz                            sources
    incprof-VERSION-py3-none-manylinux_2_28_ARCH.whl  for pip
    incprof-collector-VERSION-ARCH.tar.gz             for nodes without Python
    SHA256SUMS

The C parts are compiled by ziglang's clang against glibc 2.28, whatever this machine has. Run by the Python that
packaging/requirements.txt is installed in.

usage: python packaging/release.py [--out DIR]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import collector

ROOT = Path(__file__).resolve().parent.parent
GLIBC = "2.28"
ARCH = "x86_64"
PLATFORM = f"manylinux_{GLIBC.replace('.', '_')}_{ARCH}"


def call(*words: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """Standard output of a command; its failure is this program's."""
    command = [str(word) for word in words]
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **variables}, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def compiler(place: Path) -> Path:
    """A command that compiles for the old glibc, and for every processor of the architecture."""
    import ziglang

    zig = Path(ziglang.__file__).parent / "zig"
    command = place / "cc"
    command.write_text(f'#!/bin/sh\nexec {zig} cc -target {ARCH}-linux-gnu.{GLIBC} "$@"\n')
    command.chmod(0o755)
    return command


def committed(place: Path) -> Path:
    """The committed state in a directory of its own."""
    archive = place / "committed.tar"
    call("git", "archive", "--format=tar", "-o", archive, "HEAD")
    tree = place / "tree"
    with tarfile.open(archive) as tar:
        tar.extractall(tree, filter="fully_trusted")
    return tree


def backend(tree: Path, call_text: str, **variables: str) -> None:
    """One call of the build backend, as pip makes it."""
    call(sys.executable, "-c", f"from scikit_build_core import build; build.{call_text}", cwd=tree, **variables)


def sdist(tree: Path, dist: Path) -> Path:
    """Write the sources, and return what is in them, unpacked."""
    backend(tree, f"build_sdist({str(dist)!r})")
    (archive,) = dist.glob("incprof-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tree.parent / "sources", filter="data")
    return tree.parent / "sources" / archive.name.removesuffix(".tar.gz")


def wheel(sources: Path, dist: Path, variables: dict[str, str]) -> None:
    """Write the wheel; auditwheel refuses what the platform's name does not allow."""
    built = sources.parent / "wheel"
    settings = {"cmake.build-type": "Release", "install.strip": "true", "build-dir": "build/wheel"}
    backend(sources, f"build_wheel({str(built)!r}, {settings!r})", **variables)
    (found,) = built.glob("*.whl")
    call("auditwheel", "repair", "--plat", PLATFORM, "--only-plat", "--wheel-dir", dist, found)


def sums(dist: Path) -> str:
    """SHA256SUMS, as sha256sum -c reads it."""
    files = sorted(file for file in dist.iterdir() if file.name != "SHA256SUMS")
    text = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    (dist / "SHA256SUMS").write_text(text)
    return text


def main() -> None:
    """Build all of it."""
    parser = argparse.ArgumentParser(description="build what is given out")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "release")
    place = parser.parse_args().out.resolve()
    if not os.environ.get("SOURCE_DATE_EPOCH"):
        os.environ["SOURCE_DATE_EPOCH"] = call("git", "log", "-1", "--format=%ct").strip()
    os.umask(0o022)
    for name in ("tree", "sources", "dist", "stage", "stage-build"):
        shutil.rmtree(place / name, ignore_errors=True)
    dist = place / "dist"
    dist.mkdir(parents=True)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # No path of this machine in what is compiled.
    flags = f"-ffile-prefix-map={place}=."
    variables = {
        "CC": str(compiler(place)),
        "CFLAGS": flags,
        "ASMFLAGS": flags,
        # Left out before the build-id is made: the compiler's own parts say where they were compiled.
        "LDFLAGS": "-Wl,-S",
        "ZIG_GLOBAL_CACHE_DIR": str(place / "zig-cache"),
        "CMAKE_GENERATOR": "Unix Makefiles",
    }
    sources = sdist(committed(place), dist)
    wheel(sources, dist, variables)
    collector.write(sources, place, dist, ARCH, variables)
    print(sums(dist), end="")


if __name__ == "__main__":
    main()
