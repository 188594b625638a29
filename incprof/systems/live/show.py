"""Output of `incprof top`: full screen, as lines, or once."""

from __future__ import annotations

import argparse
import json
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from incprof.command.terminal import text_width, wants_colour
from incprof.report.render.json import exact, fields
from incprof.report.render.text import console_for
from incprof.safe.printable import say
from incprof.systems.live.job_state import NEW, LivePhase, LiveProcess, LiveView
from incprof.systems.live.session import Session
from incprof.systems.live.top_text import BeatLine, frame, log_line, main_site

TOP = 20


def as_dict(view: LiveView, beats: Sequence[BeatLine], *, ended: bool, killed: bool) -> dict[str, Any]:
    """Return the JSON object. ended: no more data will arrive; killed: a rank left without an end record."""
    front = view.front
    return {
        "schema": "incprof.top/1",
        "app": front.metadata.app,
        "ended": ended,
        "killed": killed,
        "fitted": view.fitted,
        "phases": [_phase(phase) for phase in view.phases],
        "rank": front.rank,
        "now_s": front.now_s,
        "functions": [
            fields(each, "name=function.name module=function.module share run_share", exact)
            for each in front.functions[:TOP]
        ],
        "heartbeats": [fields(beat, "id name rate_hz mean_s busy_pct count open", exact) for beat in beats],
        "processes": [_process(process) for process in view.processes],
    }


def _phase(phase: LivePhase) -> dict[str, Any]:
    """Return a phase."""
    function, kind = main_site(phase)
    return {"id": phase.id, "intervals": phase.intervals, "function": function.name if function else None, "kind": kind}


def _process(process: LiveProcess) -> dict[str, Any]:
    """Return a process."""
    step, metadata = process.step, process.metadata
    return {
        **fields(process, "rank pid primary"),
        "host": metadata.raw.get("host"),
        "intervals": process.intervals,
        **fields(metadata, "interval_s pooled rate_hz", exact),
        "elapsed_s": process.elapsed_s,
        "phase": process.label if process.label >= 0 else None,
        "new": process.label == NEW,
        "since_s": process.since_s,
        "step": None if step is None else {"name": step[0].name, "share": step[1]},
        "wait": [function.name for function in process.wait],
        **fields(process, "cpus behind_s samples lost", exact),
        **fields(process, "overhead_pct ended killed"),
    }


# Interval of checks whether a fit has finished.
FITTED_S = 0.25


def once(session: Session, args: argparse.Namespace) -> int:
    """Print one frame."""
    with waiting(keys=False) as clock:
        _poll(session)
        while session.view is None:
            clock.wait(session.pause_s)
            _poll(session)
    if session.watch.fit_now():
        session.view = session.watch.view()
    session.warn(last=True)
    _print(session, sys.stdout, whole=True)
    return 0


def plain(session: Session, args: argparse.Namespace) -> int:
    """Print a line for each update with new data, until the job has ended."""
    with waiting(keys=False) as clock:
        _poll(session)
        if session.view is None:
            say(f"waiting for {session.watch.directory}")
        while True:
            session.warn()
            ended = session.watch.ended
            if session.watch.fit_now() if ended else session.watch.fit():
                session.view = session.watch.view()
            if session.view is not None and (session.watch.has_news or ended):
                line = log_line(session.view, session.beats)
                if args.json:
                    answer = as_dict(session.view, session.beats, ended=ended, killed=session.watch.killed)
                    line = json.dumps(answer, ensure_ascii=True, allow_nan=False)
                print(line, flush=True)
            if ended:
                session.warn(last=True)
                break
            clock.wait(session.pause_s)
            _poll(session)
    say(session.hint())
    return 0


def _poll(session: Session) -> None:
    """Read new data of all processes; may block, since there is no screen to update."""
    session.poll()
    if session.watch.others_wait and session.watch.fit_now():
        session.poll()


def screen(session: Session, args: argparse.Namespace) -> int:
    """Draw until the job has ended or the user presses q; the last frame remains."""
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
    """Draw repeatedly."""
    following = 0.0
    while True:
        if time.monotonic() >= following:
            session.poll()
            following = time.monotonic() + session.pause_s
        ended = session.watch.ended
        if session.watch.fit_now() if ended else session.watch.fit():
            session.view = session.watch.view()
        _draw(session, live)
        if ended or clock.quit:
            return
        # New phases are shown as soon as they are found, however rarely the job is read.
        pause = following - time.monotonic()
        clock.wait(min(pause, FITTED_S) if session.watch.fitting else pause)
        if clock.stop:
            live.stop()
            clock.stopped()
            live.start()


def _draw(session: Session, live: Live) -> None:
    """Draw a frame that fills the current screen."""
    columns, rows = _size()
    live.update(Group(*_lines(session, columns, max(rows, 6))), refresh=True)


def _size() -> tuple[int, int]:
    """Return the current columns and rows of the screen; an exported COLUMNS may be outdated."""
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        size = shutil.get_terminal_size((80, 24))
    return size.columns, size.lines


def _lines(session: Session, width: int, height: int | None) -> list[Text]:
    """Return the frame; before the first interval, a message."""
    if session.view is None:
        return [Text(f"waiting for {session.watch.directory}"), Text("Ctrl-C or q leaves", style="dim")]
    return frame(session.view, session.beats, width=width, height=height, note=session.note())


def _print(session: Session, out: TextIO, *, whole: bool = False) -> None:
    """Print a frame permanently. whole: of any height."""
    width = max(text_width(), 40)
    console = _console(out, width)
    for line in _lines(session, width, None if whole else 24):
        console.print(line, soft_wrap=True)


def _console(out: TextIO, width: int | None) -> Console:
    """Return the console, with colours if wanted."""
    colour = wants_colour()
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    return console_for(out, width=width, colour=colour, environ=environment)


# Terminal of `incprof top`: interruptible waiting for keys and resizing, and signals that end it cleanly.


QUIT = b"qQ\x1b"


# File descriptor of the keyboard, and its original settings.
Keyboard = tuple[int, list[Any]]


class Waiting:
    """Waits for input. quit: the user has pressed q. stop: the process should stop, as after Ctrl-Z."""

    def __init__(self, keyboard: Keyboard | None, wakeup: int):
        self.quit = self.stop = False
        self._keyboard, self._wakeup = keyboard, wakeup
        self._keys = keyboard[0] if keyboard is not None else None

    def stopped(self) -> None:
        """Stop with the original keyboard settings, and continue when the shell resumes the process."""
        import termios

        with ExitStack() as stack:
            if self._keyboard is not None:
                keys, before = self._keyboard
                stack.callback(termios.tcsetattr, keys, termios.TCSADRAIN, termios.tcgetattr(keys))
                termios.tcsetattr(keys, termios.TCSADRAIN, before)
            stack.callback(signal.signal, signal.SIGTSTP, signal.signal(signal.SIGTSTP, signal.SIG_DFL))
            os.kill(os.getpid(), signal.SIGTSTP)
        self.stop = False

    def want_stop(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal of Ctrl-Z."""
        self.stop = True

    def wait(self, seconds: float) -> None:
        """Wait for `seconds`, or until there is a key, or a signal such as SIGWINCH."""
        sources = [self._wakeup] if self._keys is None else [self._wakeup, self._keys]
        for ready in select.select(sources, [], [], max(seconds, 0.0))[0]:
            read = os.read(ready, 64)
            if ready == self._keys:
                self._keys = self._keys if read else None
                self.quit = self.quit or any(key in QUIT for key in read)


def _leave(number: int, frame: FrameType | None) -> None:
    """Exit through the handlers that restore the screen."""
    raise SystemExit(128 + number)


@contextmanager
def waiting(*, keys: bool) -> Iterator[Waiting]:
    """Yield an object to wait with. keys: read the keyboard, if stdin is a terminal in the foreground.

    SIGTERM and SIGHUP become an orderly exit with status 128 + number. With keys, the caller must check `stop`.
    """
    with ExitStack() as stack:
        for number in (signal.SIGTERM, signal.SIGHUP):
            stack.callback(signal.signal, number, signal.signal(number, _leave))
        stack.callback(signal.signal, signal.SIGWINCH, signal.signal(signal.SIGWINCH, lambda number, frame: None))
        reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        stack.callback(os.close, reader)
        stack.callback(os.close, writer)
        stack.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(writer, warn_on_full_buffer=False))
        clock = Waiting(stack.enter_context(_keyboard()) if keys else None, reader)
        if keys and signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL:
            stack.callback(signal.signal, signal.SIGTSTP, signal.signal(signal.SIGTSTP, clock.want_stop))
        yield clock


@contextmanager
def _keyboard() -> Iterator[Keyboard | None]:
    """Yield the keyboard without line editing and echo; None if stdin is not a terminal, or not in the foreground."""
    import termios
    import tty

    try:
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor) if os.tcgetpgrp(descriptor) == os.getpgrp() else None
    except (OSError, ValueError, AttributeError, termios.error):
        before = None
    if before is None:
        yield None
        return
    tty.setcbreak(descriptor)
    try:
        yield descriptor, before
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
