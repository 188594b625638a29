"""What text reports are drawn with: tables and colours of rich, but no control character that is not its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from incprof.printable import printable_lines, unfiltered


class PrintableConsole(Console):
    """A console that escapes what is in texts. Its own control sequences are apart from them, and stay."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render anything."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable_lines(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Leave it to the command line, which ends as a program does that the signal ends; rich would end with 1."""
        raise BrokenPipeError


def console_for(
    out: TextIO,
    *,
    width: int | None,
    colour: bool,
    terminal: bool | None = None,
    environ: Mapping[str, str] | None = None,
) -> Console:
    """Return what draws on a stream. terminal: whether it is one; None asks it. environ: for the size; ours if None."""
    return PrintableConsole(
        file=unfiltered(out), width=width, force_terminal=terminal, no_color=not colour, highlight=False, emoji=False,
        markup=False, color_system="256" if colour else None, legacy_windows=False, _environ=environ,
    )  # fmt: skip
