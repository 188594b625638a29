"""The tarball for nodes without Python: what CMake installs, a script that records, and module files.

It may be unpacked anywhere: everything in it is found from where it lies.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path


def write(sources: Path, place: Path, dist: Path, arch: str, variables: dict[str, str]) -> Path:
    """Build the C parts of `sources` and write the tarball into `dist`."""
    name = f"incprof-collector-{version(sources)}-{arch}"
    build = sources / "build" / f"collector-{arch}"
    stage = place / "stage" / name
    environment = {**os.environ, **variables}
    words = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_INSTALL_LIBDIR=lib"]
    subprocess.run(
        ["cmake", "-S", sources, "-B", build, *words], check=True, env=environment, stdout=subprocess.DEVNULL
    )
    subprocess.run(["cmake", "--build", build], check=True, env=environment, stdout=subprocess.DEVNULL)
    subprocess.run(
        ["cmake", "--install", build, "--strip", "--prefix", stage],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    # Pages on verbs that are not here, and the analysis' kernels.
    shutil.rmtree(stage / "share" / "man")
    (stage / "lib" / "libincprof_native.so").unlink()
    (stage / "lib" / "pkgconfig" / "dpd.pc").unlink()
    for header in ("dpd.h", "dpd_values.h"):
        (stage / "include" / header).unlink()
    add_scripts(sources, stage, arch)
    return pack(stage, dist / f"{name}.tar.gz")


def version(sources: Path) -> str:
    """As incprof/version.py has it."""
    found = re.search(r'^__version__ = "([^"]+)"', (sources / "incprof" / "version.py").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def add_scripts(sources: Path, stage: Path, arch: str) -> None:
    """What is not compiled."""
    modules = stage / "share" / "modulefiles" / "incprof"
    modules.mkdir(parents=True)
    number = version(sources)
    for source, target in (
        ("incprof-record", stage / "bin" / "incprof-record"),
        ("README.md", stage / "README.md"),
        ("module.lua", modules / f"{number}.lua"),
        ("module.tcl", modules / number),
    ):
        target.parent.mkdir(exist_ok=True)
        text = (sources / "packaging" / "collector" / source).read_text()
        target.write_text(text.replace("@VERSION@", number).replace("@ARCH@", arch))
    (stage / "bin" / "incprof-record").chmod(0o755)
    shutil.copy(sources / "LICENSE", stage / "LICENSE")


def pack(stage: Path, target: Path) -> Path:
    """A tarball in which nothing is of this machine: order, owners, times."""
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted([stage, *stage.rglob("*")]):
            member = tar.gettarinfo(path, str(path.relative_to(stage.parent)))
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime = epoch
            member.mode = 0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as data:
                    tar.addfile(member, data)
            else:
                tar.addfile(member)
    target.write_bytes(gzip.compress(plain.getvalue(), mtime=epoch))
    return target
