"""Console for text reports: tables and colours of rich, without control characters from the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table

from incprof.report.words.formatting import folded
from incprof.safe.printable import printable_lines, unfiltered

# Columns of a table.
WIDEST = 10_000


class PrintableConsole(Console):
    """A console that escapes control characters in texts. Its own control sequences are kept apart, and stay."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render anything."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable_lines(segment.text), segment.style)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; a table without wrapping is as wide as it must be, even on a narrow terminal."""
        table = objects[0] if objects else None
        if not isinstance(table, Table) or not all(column.no_wrap for column in table.columns):
            super().print(*objects, **options)
            return
        width = self.width
        self.width = max(width, Measurement.get(self, self.options.update(width=WIDEST), table).maximum)
        super().print(table, **options)
        self.width = width

    def on_broken_pipe(self) -> None:
        """Leave the signal to the command line, which ends as if killed by it; rich would exit with 1."""
        raise BrokenPipeError


def console_for(
    out: TextIO,
    *,
    width: int | None,
    colour: bool,
    terminal: bool | None = None,
    environ: Mapping[str, str] | None = None,
) -> Console:
    """Return a console for a stream.

    terminal: whether the stream is one; None: detect it. environ: sets the size; None: that of this process.
    """
    return PrintableConsole(
        file=unfiltered(out), width=width, force_terminal=terminal, no_color=not colour, highlight=False, emoji=False,
        markup=False, color_system="256" if colour else None, legacy_windows=False, _environ=environ,
    )  # fmt: skip


def print_folded(console: Console, head: str, lines: Sequence[str], hang: str = "") -> None:
    """Print sentences below one another, with a head before the first; continuation lines begin with `hang`."""
    rest = " " * len(head)
    for number, line in enumerate(lines):
        for part in folded(line, console.width, rest if number else head, rest + hang):
            console.print(part, soft_wrap=True)
