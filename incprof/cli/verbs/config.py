"""Show the settings in force, and where each of them comes from.

    incprof config show                # of a recording, and what the files say about other verbs
    incprof config show phases         # every option of a verb

A flag wins over the environment, which wins over ./incprof.toml, which wins over $XDG_CONFIG_HOME/incprof/config.toml.
`incprof help config` describes the files.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from incprof.cli import verb_defaults as config_verbs
from incprof.cli.parser import VERBS, verb_parser
from incprof.errors import UsageError
from incprof.record import settings

NAME = "config"
SCHEMA = "incprof.config/1"
DEFAULT = "default"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("action", choices=("show",), metavar="show", help="print names, values and origins")
    parser.add_argument(
        "about", nargs="*", default=[], metavar="VERB", help="verbs to show (default: record, and those in the files)"
    )
    parser.add_argument("--json", action="store_true", help=f"one JSON object, schema {SCHEMA}")


def run(args: argparse.Namespace) -> int:
    """Print the requested settings."""
    for verb in args.about:
        if verb not in VERBS or verb in config_verbs.NOT_FROM_FILES - {"record"}:
            raise UsageError(f"config show {verb}: no verb with settings; see incprof --help")
    files = settings.config_files(os.environ)
    tables = {verb for path in files for verb in settings.read_tables(path)}
    rows = []
    for verb in args.about or ["record", *sorted(tables - {"record"})]:
        rows += recording() if verb == "record" else of_verb(verb, everything=bool(args.about))
    if args.json:
        print(json.dumps(document(files, rows), indent=2))
    else:
        show(files, rows)
    return 0


def recording() -> list[tuple[str, str | None, str]]:
    """Return name, value and origin of each setting of a recording."""
    found = {setting.name: (value, origin) for setting, value, origin in settings.effective_settings({}, os.environ)}
    return [(f"record.{s.name}", *found.get(s.name, (s.default, DEFAULT))) for s in settings.SETTINGS]


def of_verb(verb: str, *, everything: bool) -> list[tuple[str, str | None, str]]:
    """Return name, value and origin of a verb's options; only of those set by a file unless `everything`."""
    parser = verb_parser(verb)
    origin = config_verbs.apply(parser, verb, os.environ)
    return [
        (f"{verb}.{name}", _text(action.default), origin.get(name, DEFAULT))
        for name, action in config_verbs.options(parser).items()
        if everything or name in origin
    ]


def _text(value: object) -> str | None:
    """Return a default as a file would give it; None: there is none."""
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else settings.as_text(value)


def document(files: list[Path], rows: list[tuple[str, str | None, str]]) -> dict[str, object]:
    """Return the answer as JSON."""
    return {
        "schema": SCHEMA,
        "files": [{"path": str(path), "exists": path.is_file()} for path in files],
        "settings": [{"name": name, "value": value, "origin": origin} for name, value, origin in rows],
    }


def show(files: list[Path], rows: list[tuple[str, str | None, str]]) -> None:
    """Print a table."""
    for path in files:
        print(f"{path}: {'read' if path.is_file() else 'not there'}")
    print()
    names = max(len(name) for name, _, _ in rows)
    values = max(len(value or "-") for _, value, _ in rows)
    for name, value, origin in rows:
        print(f"{name:{names}}  {value or '-':{values}}  {origin}")
