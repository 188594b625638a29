"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

LONGEST_PREFIX = 200


def temporary_prefix(path: Path) -> str:
    """Return the prefix of the names of temporary files beside `path`."""
    return f".{path.name[:LONGEST_PREFIX]}."


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file beside `path` that replaces it once the body has succeeded, and is deleted otherwise.

    Nobody else can have created it beforehand, or placed a link there. Its permissions follow the umask.

    Raises: OSError.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=temporary_prefix(path), suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as raw:
            os.fchmod(handle, 0o666 & ~_umask())
            yield raw
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
