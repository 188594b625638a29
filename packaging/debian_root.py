"""A Debian or Ubuntu that lives as long as a script runs in it, made by mmdebstrap: the same tools everywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

# What this machine trusts, for the pip of a root that is behind the same proxy.
AUTHORITIES = Path(os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"))
# By what Ubuntu's suites are known to be its own. Debian 13 has them as ubuntu-keyring.
UBUNTU_KEYS = Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg")
UBUNTU = frozenset({"focal"})


def missing() -> str:
    """What is to be installed; empty if nothing is."""
    return "" if shutil.which("mmdebstrap") else "mmdebstrap (Debian: mmdebstrap)"


def run(suite: str, packages: tuple[str, ...], stage: Path, script: str) -> int:
    """Run `script` by sh in a root that holds the packages, its status returned.

    The files in `stage` are /stage there, where the script begins; what it leaves in /stage/out is in `stage`/out
    afterwards, and what was printed in `stage`/log.
    """
    (stage / "script.sh").write_text(script)
    out = stage / "out"
    out.mkdir()
    hooks = [
        'mkdir "$1/stage"',
        f"sync-in {stage} /stage",
        'mkdir -p "$1/etc/ssl/certs"',
        f"copy-in {AUTHORITIES} /etc/ssl/certs" if AUTHORITIES.is_file() else "true",
        # Whatever comes of the script, what it has left is taken out; its status is the last thing asked for.
        'chroot "$1" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin '
        f"SSL_CERT_FILE=/etc/ssl/certs/{AUTHORITIES.name} PIP_CERT=/etc/ssl/certs/{AUTHORITIES.name} "
        "sh -c 'cd /stage && sh script.sh; echo $? >/stage/out/status'",
        f"sync-out /stage/out {out}",
    ]
    words = ["mmdebstrap", "--variant=minbase", f"--include={','.join(packages)}"]
    if suite in UBUNTU:  # where apt is not among what a minimal root holds, and most compilers are in universe
        words += ["--components=main,universe", "--include=apt"]
    words += [f"--customize-hook={hook}" for hook in hooks]
    with (stage / "log").open("w") as log:
        done = subprocess.run([*words, suite, "/dev/null"], stdout=log, stderr=subprocess.STDOUT, check=False)
    status = out / "status"
    return int(status.read_text()) if status.exists() else done.returncode or 1
