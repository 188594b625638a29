"""Debian's packages, made in a Debian 12 that lives as long as the build: the same compiler and tools everywhere.

What is compiled there runs on Debian 12 and everything later. lintian has to have nothing to say.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SUITE = "bookworm"
TOOLS = ("debhelper", "dh-python", "cmake", "python3", "lintian")
RECIPE = Path(__file__).resolve().parent / "debian"
BUILD = """set -e
cd /build
tar xzf incprof_*.orig.tar.gz
cd incprof-*
cp -R ../debian debian
dpkg-buildpackage -us -uc -b
lintian --allow-root --fail-on error,warning ../*.changes
"""


def missing() -> str:
    """What is to be installed; empty if nothing is."""
    return "" if shutil.which("mmdebstrap") else "mmdebstrap (Debian: mmdebstrap)"


def write(archive: Path, place: Path, dist: Path) -> None:
    """Build the packages from the sources' archive, and leave them in `dist`."""
    stage = place / "debian"
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir()
    version = archive.name.removeprefix("incprof-").removesuffix(".tar.gz")
    shutil.copy(archive, stage / f"incprof_{version}.orig.tar.gz")
    shutil.copytree(RECIPE, stage / "debian")
    (stage / "build.sh").write_text(BUILD)
    hooks = [
        'mkdir "$1/build"',
        f"sync-in {stage} /build",
        'chroot "$1" sh /build/build.sh',
        'mkdir "$1/built"; cp "$1"/build/*.deb "$1/built"',
        f"sync-out /built {stage / 'built'}",
    ]
    words = ["mmdebstrap", "--variant=buildd", f"--include={','.join(TOOLS)}"]
    words += [f"--customize-hook={hook}" for hook in hooks]
    (stage / "built").mkdir()
    with (stage / "log").open("w") as log:
        done = subprocess.run([*words, SUITE, "/dev/null"], stdout=log, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise SystemExit(f"the Debian packages could not be built: see {stage / 'log'}")
    for package in sorted((stage / "built").glob("*.deb")):
        if "-dbgsym_" not in package.name:
            shutil.copy(package, dist)
