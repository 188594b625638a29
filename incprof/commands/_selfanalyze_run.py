"""Runs the program, and says meanwhile how far it is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from incprof.commands._selfanalyze import Analyst
from incprof.errors import NoDataError
from incprof.printable import say
from incprof.readers.loops import LoopReader, loop_readers
from incprof.report.words.loops import progress_words

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
            progress.show()
        else:
            return
    process.wait()


class Progress:
    """Reads what the program's files have grown by."""

    def __init__(self, directory: str, analyst: Analyst):
        self._directory = directory
        self._analyst = analyst
        self._readers: dict[Path, LoopReader] = {}

    def show(self) -> None:
        """One line for the process with the most parallel regions, when there is anything new."""
        runs = []
        for new in loop_readers(Path(self._directory)):
            reader = self._readers.setdefault(new.path, new)
            try:
                reader.update()
                runs.append(reader.run())
            except (OSError, NoDataError):
                continue
        if not runs:
            return
        run = max(runs, key=lambda run: (-run.rank, run.parallel_regions))
        answer = self._analyst.answer(run, self._directory, None, final=False)
        if answer.loops:
            say(f"{run.end_s:.1f} s: {progress_words(answer.loops[0])}")
