"""Answers stored beside a run, so that they travel with it: a JSON object in a file, with its version."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

from incprof.safe.inputs import inside, notice_own, read_input
from incprof.safe.printable import parse_json

# The answers about a large program take some megabytes.
MOST_BYTES = 64 << 20

Answer = TypeVar("Answer")


class Store(Protocol):
    """Storage for an object. Several stores may refer to the same file."""

    def load(self, understand: Callable[[dict[str, Any]], Answer]) -> Answer | None:
        """Return the result of `understand` for the object; None if there is none."""

    def save(self, content: Mapping[str, Any]) -> None:
        """Store an object."""


# Opens the store for a run's directory, a name in it, and a version.
Stores = Callable[[str, str, int], Store]


class JsonStore:
    """A file of a run. `version` is that of its contents: a file of another version is not read, but replaced.

    most_bytes: larger files are neither read nor written. owners: files of other users are not read.
    """

    def __init__(
        self,
        directory: str,
        name: str,
        version: int,
        *,
        most_bytes: int = MOST_BYTES,
        owners: Container[int] | None = None,
    ):
        self._directory = directory
        self._path = Path(directory) / name
        self._version = version
        self._most_bytes, self._owners = most_bytes, owners

    def load(self, understand: Callable[[dict[str, Any]], Answer]) -> Answer | None:
        """Return the result of `understand` for the object; None if the file is missing, damaged, or not of this run.

        `understand` may assume valid content: its errors count as damage.
        """
        try:
            data = read_input(self._path, self._most_bytes, within=self._directory, owners=self._owners)
            stored = parse_json(data)
            return understand(stored) if stored["version"] == self._version else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
            return None

    def save(self, content: Mapping[str, Any]) -> None:
        """Store an object for later readers; do nothing if the directory is not writable."""
        data = json.dumps({"version": self._version, **content}).encode("ascii")
        if len(data) > self._most_bytes or not inside(self._path.parent, self._directory):
            return
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(exist_ok=True)
            with replacing(self._path) as file:
                file.write(data)
            notice_own(self._path)


class InMemory:
    """Stores that write nothing: they start with the content of the files, and last as long as this object."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, int], _Kept] = {}

    def __call__(self, directory: str, name: str, version: int) -> Store:
        """Open the store that stands in for a file."""
        key = (directory, name, version)
        if key not in self._kept:
            self._kept[key] = _Kept(JsonStore(directory, name, version))
        return self._kept[key]


class _Kept:
    """An object in memory; until one is saved, the one in the file."""

    def __init__(self, file: JsonStore):
        self._file = file
        self._content: dict[str, Any] | None = None

    def load(self, understand: Callable[[dict[str, Any]], Answer]) -> Answer | None:
        return self._file.load(understand) if self._content is None else understand(self._content)

    def save(self, content: Mapping[str, Any]) -> None:
        self._content = dict(content)


# Files that appear whole or not at all.


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
