"""Terminal of `incprof top`: interruptible waiting for keys and resizing, and signals that end it cleanly."""

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
