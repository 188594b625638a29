"""How `incprof top` shows what it watches: on a screen of its own, as lines, or once."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from incprof.commands.terminal import text_width, wants_colour
from incprof.commands.top.waiting import Waiting, waiting
from incprof.printable import say
from incprof.report.json.top import as_dict
from incprof.report.text.console import console_for
from incprof.report.text.top import frame, log_line
from incprof.study.live.session import Session

# How often to see whether phases have been found.
FITTED_S = 0.25


def once(session: Session, args: argparse.Namespace) -> int:
    """Print one frame."""
    with waiting(keys=False) as clock:
        _look(session)
        while session.view is None:
            clock.wait(session.pause_s)
            _look(session)
    if session.watch.fit_now():
        session.view = session.watch.view()
    session.warn(last=True)
    _print(session, sys.stdout, whole=True)
    return 0


def plain(session: Session, args: argparse.Namespace) -> int:
    """Print a line for each look that finds something, until the job has ended."""
    with waiting(keys=False) as clock:
        _look(session)
        if session.view is None:
            say(f"waiting for {session.watch.directory}")
        while True:
            session.warn()
            ended = session.watch.ended
            if session.watch.fit_now() if ended else session.watch.fit():
                session.view = session.watch.view()
            if session.view is not None and (session.watch.news or ended):
                line = log_line(session.view, session.beats)
                if args.json:
                    found = as_dict(session.view, session.beats, ended=ended, killed=session.watch.killed)
                    line = json.dumps(found, ensure_ascii=True, allow_nan=False)
                print(line, flush=True)
            if ended:
                session.warn(last=True)
                break
            clock.wait(session.pause_s)
            _look(session)
    say(session.hint())
    return 0


def _look(session: Session) -> None:
    """Take what has come of all processes, where no screen stands still meanwhile."""
    session.look()
    if session.watch.others_wait and session.watch.fit_now():
        session.look()


def screen(session: Session, args: argparse.Namespace) -> int:
    """Draw until the job has ended or somebody presses q; the last frame stays."""
    console = _console(sys.stdout, None)
    with (
        waiting(keys=True) as clock,
        Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live,
    ):
        _draw_on(session, live, clock)
    session.warn(last=True)
    if session.view is not None:
        _print(session, sys.stdout)
    if session.watch.ended:
        print(session.hint())
    return 0


def _draw_on(session: Session, live: Live, clock: Waiting) -> None:
    """Draw again and again."""
    following = 0.0
    while True:
        if time.monotonic() >= following:
            session.look()
            following = time.monotonic() + session.pause_s
        ended = session.watch.ended
        if session.watch.fit_now() if ended else session.watch.fit():
            session.view = session.watch.view()
        _draw(session, live)
        if ended or clock.quit:
            return
        # New phases are shown when they are there, however rarely the job is looked at.
        pause = following - time.monotonic()
        clock.wait(min(pause, FITTED_S) if session.watch.fitting else pause)
        if clock.stop:
            live.stop()
            clock.stopped()
            live.start()


def _draw(session: Session, live: Live) -> None:
    """Draw a frame that fills the screen as it is now."""
    columns, rows = _size()
    live.update(Group(*_lines(session, columns, max(rows, 6))), refresh=True)


def _size() -> tuple[int, int]:
    """Return the columns and rows of the screen now: an exported COLUMNS is what it had when the shell said so."""
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        size = shutil.get_terminal_size((80, 24))
    return size.columns, size.lines


def _lines(session: Session, width: int, height: int | None) -> list[Text]:
    """Return the frame; before the first interval, what is waited for."""
    if session.view is None:
        return [Text(f"waiting for {session.watch.directory}"), Text("Ctrl-C or q leaves", style="dim")]
    return frame(session.view, session.beats, width=width, height=height, note=session.note())


def _print(session: Session, out: TextIO, *, whole: bool = False) -> None:
    """Print a frame to stay. whole: as long as it wants to be, on a terminal of any height."""
    width = max(text_width(), 40)
    console = _console(out, width)
    for line in _lines(session, width, None if whole else 24):
        console.print(line, soft_wrap=True)


def _console(out: TextIO, width: int | None) -> Console:
    """Return what draws, with colours where they are wanted."""
    colour = wants_colour()
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    return console_for(out, width=width, colour=colour, environ=environment)
