"""The parsed files of a source tree, found by their names in the binary."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from incprof.errors import NoDataError
from incprof.model.names import begins_inside, parse
from incprof.source.languages import language_of, parse_file, read_source
from incprof.source.locate import CHANGED, begins_at, find_function, functions_named, name_line
from incprof.source.model import SourceFile
from incprof.source.tree import SourceTree
from incprof.source.unchanged import KnownSources

# The prefix in the qualified name of a function of Python: `run.py:Solver.`
WORD_BEFORE = re.compile(r"^.*[:.](?=\w)")


@dataclass(frozen=True)
class Found:
    """A function of a parsed file.

    Attributes:
        file: the parsed file.
        position: index of the function in it.
        shift: number of lines by which it moved down since it was compiled.
    """

    file: SourceFile
    position: int
    shift: int = 0


class Sources:
    """Files below a directory, each parsed once.

    Args:
        start_ns: start of the recording, nanoseconds since 1970, or None.
        allow_changed: accept files that were changed since, and find their functions by name.

    Raises: NoDataError when the directory does not exist.
    """

    def __init__(
        self, root: Path, directory: str, start_ns: int | None, *, allow_changed: bool, blank: Sequence[str] = ()
    ):
        self._tree = SourceTree(root)
        self._known = KnownSources(directory, start_ns)
        self._allow_changed, self._blank = allow_changed, tuple(blank)
        self._parsed: dict[str, SourceFile] = {}
        self._answers: dict[str, tuple[SourceFile, bool] | str] = {}

    def function(self, recorded: str, line: int, name: str, *, entry: bool) -> Found:
        """Return the function as written, given its recorded file, line and name. entry: the line is that of its entry.

        Raises: NoDataError when it cannot be found, or when the file is not the one that was compiled.
        """
        file, proven = self._file(recorded)
        position = find_function(file, line, name, moved=self._allow_changed, proven=proven)
        whole = entry and not begins_inside(name)
        if proven or not whole or begins_at(file, position, line):
            return Found(file, position)
        if not self._allow_changed:
            raise NoDataError(f"{file.path}:{line}: {parse(name).last} does not begin there: {CHANGED}")
        return Found(file, position, name_line(file, position) - line)

    def named(self, name: str) -> Found:
        """Return the only function of that name below the directory, for programs without line numbers.

        Raises: NoDataError when there is none, or several.
        """
        wanted = WORD_BEFORE.sub("", parse(name).last)
        found = []
        for path in self._tree.files():
            if (file := self._mentioning(path, wanted)) is not None:
                found += [Found(file, position) for position in functions_named(file, name)]
        if len(found) == 1:
            self._is_unchanged(found[0].file.path, found[0].file)
            return found[0]
        if not found:
            raise NoDataError(f"no function {wanted} below {self._tree.root}")
        places = ", ".join(f"{f.file.path}:{f.file.functions[f.position].line}" for f in found[:4])
        raise NoDataError(f"several functions are called {wanted}: {places}; build with -g to tell them apart")

    def save(self) -> None:
        """Store which files are unchanged."""
        self._known.save()

    def _file(self, recorded: str) -> tuple[SourceFile, bool]:
        """Return the parsed file, and whether it is known to be unchanged."""
        if recorded not in self._answers:
            try:
                file = self._parse(self._tree.find(recorded))
                self._answers[recorded] = file, self._is_unchanged(recorded, file)
            except NoDataError as error:
                self._answers[recorded] = str(error)
        answer = self._answers[recorded]
        if isinstance(answer, str):
            raise NoDataError(answer)
        return answer

    def _is_unchanged(self, recorded: str, file: SourceFile) -> bool:
        """Return whether a file is known to be unchanged.

        Raises: NoDataError when it is known to have changed, unless that is allowed.
        """
        verdict = self._known.state_of(recorded, self._tree.root / file.path, file)
        if verdict == "changed" and not self._allow_changed:
            raise NoDataError(f"{file.path} {CHANGED}")
        return verdict == "unchanged"

    def _parse(self, path: str) -> SourceFile:
        if path not in self._parsed:
            self._parsed[path] = parse_file(self._tree.root, path, blank=self._blank)
        return self._parsed[path]

    def _mentioning(self, path: str, word: str) -> SourceFile | None:
        """Parse a source file that contains a name; None for all others."""
        if language_of(path, b"") is None:
            return None
        try:
            mentioned = word.lower().encode("utf-8", "replace") in read_source(self._tree.root / path).lower()
            return self._parse(path) if mentioned else None
        except NoDataError:
            return None
