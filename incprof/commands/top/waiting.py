"""The terminal of `incprof top`: waiting that ends early for a key or a new size, and signals that end it in order."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

QUIT = b"qQ\x1b"


# The keyboard, and how it was before.
Keyboard = tuple[int, list[Any]]


class Waiting:
    """Waits. quit: somebody has pressed q. stop: the shell wants it to stop, as after Ctrl-Z."""

    def __init__(self, keyboard: Keyboard | None, wakeup: int):
        self.quit = self.stop = False
        self._keyboard, self._wakeup = keyboard, wakeup
        self._keys = keyboard[0] if keyboard is not None else None

    def stopped(self) -> None:
        """Stop with the keyboard as it was, and go on when the shell says so."""
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
        """Take the signal of Ctrl-Z."""
        self.stop = True

    def wait(self, seconds: float) -> None:
        """Wait for so long, or until there is a key, or a signal such as the one for a new size."""
        sources = [self._wakeup] if self._keys is None else [self._wakeup, self._keys]
        for ready in select.select(sources, [], [], max(seconds, 0.0))[0]:
            read = os.read(ready, 64)
            if ready == self._keys:
                self._keys = self._keys if read else None
                self.quit = self.quit or any(key in QUIT for key in read)


def _leave(number: int, frame: FrameType | None) -> None:
    """End by way of what restores the screen."""
    raise SystemExit(128 + number)


@contextmanager
def waiting(*, keys: bool) -> Iterator[Waiting]:
    """Give something to wait with. keys: listen to the keyboard, if there is one and it is ours.

    SIGTERM and SIGHUP become an orderly exit with 128 and their number. With keys, whoever waits has to look at `stop`.
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
    """Give the keyboard without line editing and echo; None where stdin is none, or belongs to another job."""
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
