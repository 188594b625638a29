"""The first two lines of a heartbeat file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, BinaryIO

from appekg.errors import AppekgError
from appekg.model import ROW
from appekg.pieces import first_lines
from appekg.records import metadata_of

KNOWN = frozenset(ROW.names or ()) - {"process", "busy_ns"}
NEEDED = ("interval", "thread", "id")


class Header:
    """The content of the first two lines.

    Attributes:
        path: The file.
        metadata: The `#appekg` object; the values used in this package have the right type.
        columns: Names of the columns, in order.
    """

    def __init__(self, path: Path, raw: BinaryIO):
        """Read the two lines.

        Raises:
            AppekgError: this is not a heartbeat file, it is empty, or its format is too new.
            OSError: it cannot be read.
        """
        self.path = path
        first, second = first_lines(raw, str(path))
        self.metadata: dict[str, Any] = metadata_of(first, str(path))
        # A process that was killed immediately has no columns, and no rows either.
        self.columns = second.decode("ascii", "replace").split(",") if second else list(NEEDED)
        shown = ascii(second.decode("ascii", "replace")[:60])
        if any(self.columns.count(name) != 1 for name in NEEDED):
            raise AppekgError(f"{path}: the second line does not name the columns {', '.join(NEEDED)}: {shown}")
        if any(self.columns.count(name) > 1 for name in KNOWN):
            raise AppekgError(f"{path}: the second line names a column twice: {shown}")

    @property
    def rank(self) -> int:
        """The rank in the metadata, else in the file's name, else 0."""
        if self.metadata["rank"] is not None:
            return int(self.metadata["rank"])
        match = re.match(r"rank-(\d{1,9})\.", self.path.name)
        return int(match[1]) if match else 0

    @property
    def missing(self) -> list[str]:
        """Columns that the file lacks, and that cannot be derived."""
        return sorted(KNOWN - {"executions"} - set(self.columns))
