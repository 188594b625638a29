"""Debian's packages, made in a Debian 12 that lives as long as the build: the same compiler and tools everywhere.

What is compiled there runs on Debian 12 and everything later. lintian has to have nothing to say.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import debian_root

SUITE = "bookworm"
TOOLS = ("build-essential", "debhelper", "dh-python", "cmake", "python3", "lintian")
RECIPE = Path(__file__).resolve().parent / "debian"
BUILD = """set -e
tar xzf incprof_*.orig.tar.gz
cd incprof-*
cp -R ../debian debian
dpkg-buildpackage -us -uc -b
lintian --allow-root --fail-on error,warning ../*.changes
cp ../*.deb ../out
"""


def write(archive: Path, place: Path, dist: Path) -> None:
    """Build the packages from the sources' archive, and leave them in `dist`."""
    stage = place / "debian"
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir()
    version = archive.name.removeprefix("incprof-").removesuffix(".tar.gz")
    shutil.copy(archive, stage / f"incprof_{version}.orig.tar.gz")
    shutil.copytree(RECIPE, stage / "debian")
    if debian_root.run(SUITE, TOOLS, stage, BUILD):
        raise SystemExit(f"the Debian packages could not be built: see {stage / 'log'}")
    for package in sorted((stage / "out").glob("*.deb")):
        if "-dbgsym_" not in package.name:
            shutil.copy(package, dist)
