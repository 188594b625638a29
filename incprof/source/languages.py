"""Detect a file's language, and parse it into functions and loops, without heartbeats of ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from incprof.errors import NoDataError
from incprof.safe.inputs import read_input
from incprof.source.c.inserted_text import strip_c
from incprof.source.fortran.marks import strip_fortran
from incprof.source.model import Language, SourceFile, is_c
from incprof.source.python.lines import strip_python

C, HEADERS = frozenset(".c".split()), frozenset(".h .inc .def".split())
CPP = frozenset(".cc .cpp .cxx .c++ .cp .hh .hpp .hxx .h++ .ipp .inl .tpp .tcc .txx".split())
FREE = frozenset(".f90 .f95 .f03 .f08 .f18".split())
FIXED = frozenset(".f .for .ftn .f77".split())
PYTHON = frozenset(".py .pyw".split())

# In fixed form: code in the label field, and comments.
BEFORE_COLUMN_7 = re.compile(rb"^(?:[^\W\dcCdD]| {1,4}[a-zA-Z_])", re.M)
COMMENT = re.compile(rb"^(?:\*|[cC](?:[^\w]|$))", re.M)
# Not C at the start of a line: a header that contains one of these is C++.
ONLY_CPP = re.compile(
    rb"^[ \t]*(?:template\s*<|namespace\b|using\s|class\s+\w+|(?:public|private|protected)\s*:)", re.M
)
# Scripts need no suffix.
PYTHON_SCRIPT = re.compile(rb"(?:\xef\xbb\xbf)?#![^\r\n]*\bpython[\d.]*\b")
# Limit for generated sources; a parser would need gigabytes for larger ones.
MOST_BYTES = 64 << 20


def language_of(path: str, data: bytes) -> Language | None:
    """Return the language of a file, by its suffix, and for a header by its contents; None for other files."""
    suffix = Path(path).suffix
    lower = suffix.lower()
    if suffix == ".C" or lower in CPP:
        return "c++"
    if lower in C:
        return "c"
    if lower in HEADERS:
        return "c++" if ONLY_CPP.search(data) else "c"
    if lower in FREE:
        return "fortran"
    if lower in PYTHON or (not suffix and PYTHON_SCRIPT.match(data)):
        return "python"
    if lower in FIXED:
        return "fortran" if is_free(data) else "fixed"
    return None


def is_free(data: bytes) -> bool:
    """Return whether a file with a fixed-form name is in free form (`gfortran -ffree-form`).

    In fixed form, no statement begins before column 7; in free form, no comment is marked by a letter or a star.
    """
    return len(BEFORE_COLUMN_7.findall(data)) > len(COMMENT.findall(data))


def read_source(path: Path) -> bytes:
    """Return the bytes of a source file.

    Raises: NoDataError if it cannot be read, or is larger than 64 MiB.
    """
    try:
        return read_input(path, MOST_BYTES)
    except OSError as error:
        raise NoDataError(f"{path}: cannot be read: {error.strerror}") from error


def strip(data: bytes, language: Language) -> bytes:
    """Return the bytes without the inserted heartbeats; the same bytes if there are none."""
    if is_c(language):
        return strip_c(data)
    if language == "python":
        return strip_python(data)
    return strip_fortran(data, fixed=language == "fixed")


def parse_file(root: Path, relative: str, *, blank: Sequence[str] = ()) -> SourceFile:
    """Read, strip and parse a file below `root`. blank: macros hidden from the parser.

    Raises: NoDataError if it cannot be read, or is not in a supported language.
    """
    data = read_source(root / relative)
    language = language_of(relative, data)
    if language is None:
        raise NoDataError(f"{relative}: neither C, C++, Fortran nor Python by its name")
    clean = strip(data, language)
    # Imported here: site detection does not need the parsers, and some incprof packages come without them.
    from incprof.source.c.parse import parse_c
    from incprof.source.fortran.procedures import parse_fortran
    from incprof.source.python.definitions import parse_python

    if is_c(language):
        return parse_c(relative, clean, cpp=language == "c++", blank=blank)
    if language == "python":
        return parse_python(relative, clean)
    return parse_fortran(relative, clean, fixed=language == "fixed")
