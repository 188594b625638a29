"""`make release`: what is given out, in build/release/dist, of the committed state. Twice the same bytes.

    incprof-VERSION.tar.gz                            sources
    incprof-VERSION-py3-none-manylinux_2_28_ARCH.whl  for pip, x86_64 and aarch64
    incprof-collector-VERSION-ARCH.tar.gz             for nodes without Python, likewise
    *.deb                                             for Debian 12 and later, of this machine's processor
    SHA256SUMS

The C parts are compiled by ziglang's clang against glibc 2.28, whatever this machine has. Run by the Python that
packaging/requirements.txt is installed in.

usage: python packaging/release.py [--out DIR] [--arch ARCH] [--no-debian]
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
import debian_packages
import debian_root
import zig

ROOT = Path(__file__).resolve().parent.parent


def call(*words: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """Standard output of a command; its failure is this program's."""
    command = [str(word) for word in words]
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **variables}, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


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


def wheel(sources: Path, dist: Path, arch: str, variables: dict[str, str]) -> None:
    """Write the wheel; auditwheel refuses what the platform's name does not allow."""
    built = sources.parent / f"wheel-{arch}"
    settings = {"cmake.build-type": "Release", "install.strip": "true", "build-dir": f"build/{arch}"}
    backend(sources, f"build_wheel({str(built)!r}, {settings!r})", **variables)
    (found,) = built.glob("*.whl")
    # auditwheel knows the names of the platforms of the machine that it runs on.
    lines = (
        "import platform",
        f"platform.machine = lambda: {arch!r}",
        "from auditwheel.main import main",
        "exit(main())",
    )
    words = ("repair", "--plat", zig.platform_tag(arch), "--only-plat", "--wheel-dir", dist, found)
    call(sys.executable, "-c", "; ".join(lines), *words)


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
    parser.add_argument("--arch", action="append", choices=zig.ARCHITECTURES, help="one of them alone")
    parser.add_argument("--no-debian", action="store_true", help="without Debian's packages")
    args = parser.parse_args()
    place, architectures = args.out.resolve(), args.arch or zig.ARCHITECTURES
    needed = [*map(zig.missing, architectures), "" if args.no_debian else debian_root.missing()]
    if lacking := ", ".join(filter(None, needed)):
        sys.exit(f"missing: {lacking}; install it, or build less: packaging/release.py --arch ARCH --no-debian")
    if not os.environ.get("SOURCE_DATE_EPOCH"):
        os.environ["SOURCE_DATE_EPOCH"] = call("git", "log", "-1", "--format=%ct").strip()
    os.umask(0o022)
    for name in ("tree", "sources", "dist", "stage"):
        shutil.rmtree(place / name, ignore_errors=True)
    dist = place / "dist"
    dist.mkdir(parents=True)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    sources = sdist(committed(place), dist)
    for arch in architectures:
        variables = zig.environment(arch, place)
        wheel(sources, dist, arch, variables)
        collector.write(sources, place, dist, arch, variables)
    if not args.no_debian:
        debian_packages.write(next(dist.glob("incprof-[0-9]*.tar.gz")), place, dist)
    print(sums(dist), end="")


if __name__ == "__main__":
    main()
