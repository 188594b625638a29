"""Runs the program, and says meanwhile how far it is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from incprof.printable import say
from incprof.report.words.loops import progress_words
from incprof.study.loops import Analyst, Progress

EVERY_S = 1.0
NOT_EXECUTABLE, NOT_FOUND = 126, 127
PASSED_ON = (signal.SIGTERM, signal.SIGHUP)


def run_program(
    command: list[str],
    variables: dict[str, str],
    directory: str,
    analyst: Analyst,
    *,
    live: bool,
    output_to_stderr: bool,
) -> int:
    """Run a command to its end; its exit status as a shell tells it. With `live`, a line a second on stderr."""
    # A bare name is looked up in PATH alone, as execvp does.
    program = command[0] if "/" in command[0] else shutil.which(command[0])
    if program is None:
        say(f"{command[0]}: command not found")
        return NOT_FOUND
    sys.stdout.flush()
    stdout = sys.stderr if output_to_stderr else None
    try:
        process = subprocess.Popen(command, executable=program, env={**os.environ, **variables}, stdout=stdout)
    except OSError as error:
        say(f"{command[0]}: cannot be run: {error.strerror}")
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    with passed_on_to(process):
        wait(process, Progress(directory, analyst) if live else None)
    status = process.returncode
    return status if status >= 0 else 128 - status


@contextmanager
def passed_on_to(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Signals that mean the program reach it: those of the terminal do so by themselves."""
    before = {number: signal.signal(number, lambda got, _: process.send_signal(got)) for number in PASSED_ON}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)
    before[signal.SIGQUIT] = signal.signal(signal.SIGQUIT, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wait(process: subprocess.Popen[bytes], progress: Progress | None) -> None:
    """Until the program has ended."""
    while progress is not None:
        try:
            process.wait(EVERY_S)
        except subprocess.TimeoutExpired:
            show(progress)
        else:
            return
    process.wait()


def show(progress: Progress) -> None:
    """Say how far the program is, when its loops are known."""
    answer = progress.look()
    if answer is not None and answer.loops:
        say(f"{answer.run.end_s:.1f} s: {progress_words(answer.loops[0])}")
