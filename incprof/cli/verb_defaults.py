"""Defaults of the verbs' options from the configuration files.

A table is named after a verb, its keys after the verb's long options: `[phases]`, `method = "paper"`. The command line
overrides it. The table `record` holds the settings of a recording (incprof.record.settings).
"""

from __future__ import annotations

import argparse
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from incprof.command.helping import expert
from incprof.errors import UsageError
from incprof.record.settings import SETTINGS, as_text, config_files, read_tables

# Verbs whose options cannot be set by files: settings have their own table, and the others select an action.
NOT_FROM_FILES = frozenset({"record", "env", "config", "completion", "help"})
NEVER = frozenset({"help", "help-all", "debug", "version"})


class FromFile(list[object]):
    """Values of an option that may be repeated. The first one on the command line replaces them all."""

    def __copy__(self) -> list[object]:
        """Return the list that argparse appends to."""
        return []


def options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return the options of a verb that a file may set, by their long names."""
    by_name = {}
    for action in parser._actions:
        long = next((flag[2:] for flag in action.option_strings if flag.startswith("--")), None)
        if long is not None and long not in NEVER and action.help is not argparse.SUPPRESS:
            by_name[long] = action
    return by_name


def apply(parser: argparse.ArgumentParser, verb: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Set the values of the files as the defaults of a verb's parser.

    Returns:
        The origin of each of these defaults, by option.

    Raises:
        UsageError: a file is invalid; the message has its position.
    """
    if verb in NOT_FROM_FILES:
        return {}
    actions, origin = options(parser), {}
    for path in config_files(environ):
        for key, value in read_tables(path).get(verb, {}).items():
            where = f"{path}: {verb}.{key}"
            if key not in actions:
                raise UsageError(f"{where}: there is no such option; see incprof {verb} --help")
            parsed = _value(actions[key], value, where)
            if key not in origin:
                actions[key].without_files = actions[key].default  # type: ignore[attr-defined]
                actions[key].default, actions[key].required = parsed, False
                origin[key] = where
    return origin


def yield_to(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Drop a file's values for options that exclude an option of the command line."""
    words = words[: words.index("--") if "--" in words else len(words)]
    options_used = {word.partition("=")[0] for word in words}
    for group in parser._mutually_exclusive_groups:
        if any(options_used.intersection(action.option_strings) for action in group._group_actions):
            for action in group._group_actions:
                action.default = getattr(action, "without_files", action.default)


def check_files(environ: Mapping[str, str], verbs: Container[str]) -> None:
    """Raise UsageError when a file cannot be read, or has an invalid table."""
    for path in config_files(environ):
        check_tables(path, verbs)


def check_tables(path: Path, verbs: Container[str]) -> None:
    """Raise UsageError when a file has a table of no verb, or of a verb without settings."""
    for verb in read_tables(path):
        if verb not in verbs:
            raise UsageError(f"{path}: [{verb}] is not a verb of incprof; see incprof --help")
        if verb in NOT_FROM_FILES - {"record"}:
            raise UsageError(f"{path}: [{verb}] has no settings; put those of a recording into [record]")


def _value(action: argparse.Action, value: object, where: str) -> object:
    """Convert a value as if the command line had given it."""
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise UsageError(f"{where}: expected true or false")
        return value if not isinstance(action, argparse._StoreFalseAction) else not value
    if isinstance(action, argparse._AppendAction):
        return FromFile(_one(action, part, where) for part in (value if isinstance(value, list) else [value]))
    return _one(action, value, where)


def _one(action: argparse.Action, value: object, where: str) -> object:
    """Convert and check one value by the option's own type."""
    if isinstance(value, bool | dict):
        raise UsageError(f"{where}: expected a value, not {'a table' if isinstance(value, dict) else as_text(value)}")
    text = as_text(value)
    try:
        parsed = action.type(text) if callable(action.type) else text
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"{where}: {error}") from error
    except (ValueError, TypeError) as error:
        kind = {int: "a whole number", float: "a number"}.get(action.type, "a valid value")  # type: ignore[call-overload]
        raise UsageError(f"{where}: {text!r} is wrong, expected {kind}") from error
    if action.choices is not None and parsed not in action.choices:
        raise UsageError(f"{where}: {text!r} is wrong, expected one of {', '.join(map(str, action.choices))}")
    return parsed


# Options of the verbs that record: one for each setting.


def add_arguments(parser: argparse.ArgumentParser, leave_out: Container[str] = ()) -> None:
    """Add the flag of every setting to `parser`, except those in `leave_out`."""
    group = parser.add_argument_group("settings")
    for setting in SETTINGS:
        if setting.name in leave_out:
            continue
        text = f"{setting.help} (default: {setting.default})"
        if setting.may_have_value:
            action: argparse.Action = group.add_argument(
                *setting.flags,
                dest=setting.name,
                nargs="?",
                const=setting.flag_value,
                metavar=setting.metavar,
                help=text,
            )
        elif setting.flag_value is not None:
            action = group.add_argument(
                *setting.flags, dest=setting.name, action="store_const", const=setting.flag_value, help=setting.help
            )
        else:
            action = group.add_argument(*setting.flags, dest=setting.name, metavar=setting.metavar, help=text)
        if setting.expert:
            expert(action)
