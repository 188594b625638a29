"""Options of the verbs that record: one for each setting."""

from __future__ import annotations

import argparse
from collections.abc import Container

from incprof.command.helping import expert
from incprof.record.settings import SETTINGS


def add_arguments(parser: argparse.ArgumentParser, leave_out: Container[str] = ()) -> None:
    """Add the flag of every setting to `parser`, except those in `leave_out`."""
    group = parser.add_argument_group("settings")
    for setting in SETTINGS:
        if setting.name in leave_out:
            continue
        text = f"{setting.help} (default: {setting.default})"
        action = group.add_argument(*setting.flags, dest=setting.name, metavar=setting.metavar, help=text)
        if setting.expert:
            expert(action)
