"""What the verbs know of the terminal that they print to."""

from __future__ import annotations

import os
import shutil
import sys


def wants_colour() -> bool:
    """Tell whether stdout takes colours: a terminal that is not dumb, unless NO_COLOR says otherwise."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def text_width() -> int:
    """Return the columns of the terminal, COLUMNS, or 100."""
    return shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else _columns()


def _columns() -> int:
    """Return COLUMNS if it is a sensible number, else 100."""
    value = os.environ.get("COLUMNS", "")
    return int(value) if value.isdigit() and 40 <= int(value) <= 1000 else 100
