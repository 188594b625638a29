"""The settings of a recording, and the sources of their values.

A flag overrides the environment, which overrides ./incprof.toml, $XDG_CONFIG_HOME/incprof/config.toml and, last, the
collector's own defaults. The files hold the settings in a table called `record`; incprof.cli.verb_defaults reads the
tables of other verbs.
"""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from incprof.errors import UsageError
from incprof.safe.inputs import read_input

# Configuration files are written by hand, and small.
MOST_BYTES = 1 << 20


# Times and rates in human notation: 250ms, 2m, 0.5; 250, 1kHz.


# A plain number is seconds.
SECONDS = {"": 1.0, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
NUMBER = r"[0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12}|[0-9](?:\.[0-9]{1,9})?[eE][+-]?[0-9]{1,2}"
FORMS = "a time such as 0.5, 250ms or 2m"
HERTZ = {"": 1.0, "Hz": 1.0, "hz": 1.0, "kHz": 1000.0, "khz": 1000.0}
RATES = "a rate such as 250, 250Hz or 1kHz"
LONGEST_RUN_S = 1e9


def seconds(text: str) -> float:
    """Return a time in seconds, 0 or more.

    Raises:
        ValueError: it is not a time; the message describes the expected form.
    """
    return _number(text, SECONDS, FORMS)


def hertz(text: str) -> float:
    """Return a rate per second, 0 or more.

    Raises:
        ValueError: it is not a rate; the message describes the expected form.
    """
    return _number(text, HERTZ, RATES)


def _number(text: str, units: Mapping[str, float], form: str) -> float:
    """Return a number with a unit."""
    match = re.fullmatch(rf"({NUMBER}) ?([A-Za-z]*)", text)
    if match is None or match[2] not in units:
        raise ValueError(form)
    return float(match[1]) * units[match[2]]


def _option(read: Callable[[str], float]) -> Callable[[str], float]:
    """Return the type of an option, whose errors are argparse's."""

    def parse(text: str) -> float:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r}: expected {error}") from None

    return parse


# The value of an option in seconds, and per second.
time, rate = _option(seconds), _option(hertz)


def duration(text: str) -> float:
    """Return the seconds for which an option lets something run.

    Raises:
        argparse.ArgumentTypeError: it is not a time, or zero.
    """
    value = time(text)
    if not 0 < value <= LONGEST_RUN_S:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a time above 0, up to {LONGEST_RUN_S:g} seconds")
    return value


# The settings.


class Setting(NamedTuple):
    """One setting.

    Attributes:
        parse: returns the value in the collector's format; its ValueError describes the expected one.
        default: the collector's behaviour without a value.
        expert: --help omits it.
        flag_value: value of the flag, which is then given without one; None: it takes a value.
        may_have_value: whether a flag with `flag_value` may be given with a value, too.
    """

    name: str
    flags: tuple[str, ...]
    metavar: str
    default: str
    help: str
    parse: Callable[[str], str]
    expert: bool = False
    flag_value: str | None = None
    may_have_value: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that passes the value to the collector."""
        return f"INCPROF_{self.name.upper().replace('-', '_')}"


def number(low: float, high: float, unit: str) -> Callable[[str], str]:
    """Return a parser of a number in [low, high]. The collector reads plain decimals only, so 1e-2 becomes 0.01."""

    def parse(text: str) -> str:
        expected = f"a number of {unit} from {low:g} to {high:g}"
        try:
            value = float(text)
        except ValueError:
            raise ValueError(expected) from None
        if not math.isfinite(value) or not low <= value <= high:
            raise ValueError(expected)
        return f"{value:.9f}".rstrip("0").rstrip(".")

    return parse


def period(low: float, high: float) -> Callable[[str], str]:
    """Return a parser of a time in [low, high] seconds, such as 0.5, 250ms or 2m. The collector reads plain seconds."""
    return _within(seconds, FORMS, low, high, "seconds")


def rate_in(low: float, high: float) -> Callable[[str], str]:
    """Return a parser of a rate in [low, high], such as 250 or 1kHz. The collector reads a plain number."""
    return _within(hertz, RATES, low, high, "hertz")


def _within(read: Callable[[str], float], form: str, low: float, high: float, unit: str) -> Callable[[str], str]:
    plain = number(low, high, unit)

    def parse(text: str) -> str:
        try:
            return plain(repr(read(text)))
        except ValueError:
            raise ValueError(f"{form}, from {low:g} to {high:g} {unit}") from None

    return parse


def choice(*words: str) -> Callable[[str], str]:
    """Return a parser of one word out of `words`."""

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError("one of " + ", ".join(words))
        return text

    return parse


def ranks(text: str) -> str:
    """Parse a list of ranks such as 0,8-15; entries may also be every:64 and per-node:1."""
    one = r"(\d+(-\d+)?|(every|per-node):0*[1-9]\d*)"
    if not re.fullmatch(rf"{one}(,{one})*", text):
        raise ValueError("a list of ranks such as 0,8-15, every:64 or per-node:1")
    return text


def size(text: str) -> str:
    """Parse a number of bytes such as 65536, 64K or 1M. The collector reads a plain number."""
    match = re.fullmatch(r"(\d{1,15})([KkMmGg]?)", text)
    bytes_ = int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[match[2].lower()] if match else -1
    if not 0 <= bytes_ <= 1 << 40:
        raise ValueError("a number of bytes such as 512K or 1M; 0: none")
    return str(bytes_)


def switch(text: str) -> str:
    """Parse on or off into the collector's format."""
    if text not in ("1", "0", "true", "false"):
        raise ValueError("1 or 0")
    return text if text in "10" else str(int(text == "true"))


def not_empty(text: str) -> str:
    """Parse any non-empty text."""
    if not text:
        raise ValueError("not to be empty")
    return text


def programs(text: str) -> str:
    """Parse a pattern for the paths or names of programs. A path becomes the kernel's: absolute, without links."""
    is_pattern = any(character in text for character in "*?[")
    return os.path.realpath(text) if "/" in text and not is_pattern else not_empty(text)


# Files for gprof cannot name the called function: "named" becomes "caller" there.
LIBS = ("caller", "separate", "drop", "named")

# If a setting is a choice of words, the first is the default.
SETTINGS = (
    Setting("dir", ("-o", "--output"), "DIR", "gmon-<program>", "run directory", not_empty),
    Setting("interval", ("-i", "--interval"), "T", "1s", "interval length, such as 250ms or 2m", period(0.001, 86400)),
    Setting("rate", ("-r", "--rate"), "HZ", "250", "samples per second of CPU time, such as 1kHz", rate_in(1, 10000)),
    Setting("clock", ("--clock",), "cpu|perf", "by rate", "perf above the kernel's HZ", choice("cpu", "perf"), True),
    Setting("format", ("--format",), "stream|gmon", "stream", "gmon: files for gprof", choice("stream", "gmon"), True),
    Setting("gather", ("--gather",), "rank|node", "rank", "one file for each", choice("rank", "node"), True),
    Setting("ranks", ("--ranks",), "LIST", "all", "these ranks only, such as 0,8-15 or every:64", ranks, True),
    Setting("exe", ("--exe",), "GLOB", "the command", "record programs of this name or path only", programs, True),
    Setting("follow", ("--follow",), "1|0", "1", "record forked children too", switch, True),
    Setting("libs", ("--libs",), "caller|separate|drop", "caller", "gmon: library time", choice(*LIBS), True),
    Setting("counters", ("--counters",), "1|0", "0", "count hardware events of all threads", switch, True, "1"),
    Setting("io", ("--io",), "1|0", "0", "count calls that read and write, by file", switch, False, "1"),
    Setting("memory", ("--memory",), "BYTES", "512K", "sample allocations, one per BYTES", size, False, "512K", True),
    Setting("gpu", ("--gpu",), "1|0", "0", "record kernels, copies of CUDA, HIP, OpenCL, OpenMP", switch, True, "1"),
    Setting("gpu-trace", ("--gpu-trace",), "BYTES", "32M", "--gpu, and a trace of each kernel, of at most BYTES", size,
            True, "32M", True),
    Setting("waits", ("--waits",), "N", "20", "samples of waits per second; 0: none", number(0, 1000, "samples"), True),
    Setting("log", ("--log",), "warn|quiet|debug", "warn", "messages on stderr", choice("warn", "quiet", "debug")),
)  # fmt: skip


def config_files(environ: Mapping[str, str]) -> list[Path]:
    """Return the configuration files that may exist, highest precedence first."""
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", "/"), ".config")
    return [Path("incprof.toml"), Path(base) / "incprof" / "config.toml"]


def read_tables(path: Path) -> dict[str, dict[str, object]]:
    """Return the tables of a configuration file by verb; empty if there is no such file.

    Raises:
        UsageError: it cannot be read, or is invalid.
    """
    try:
        text = read_input(path, MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    import tomllib  # slow to import, and few users have such files

    try:
        tables = tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else error
        raise UsageError(f"{path}: not valid TOML: {what}") from error
    for verb, table in tables.items():
        if not isinstance(table, dict):
            raise UsageError(f"{path}: {verb} must be a table, such as [record]")
    return tables


def read_file(path: Path) -> dict[str, str]:
    """Return the `record` table of a configuration file as text values; empty if there is no such file."""
    table = read_tables(path).get("record", {})
    names = [setting.name for setting in SETTINGS]
    for key in table:
        if key not in names:
            raise UsageError(f"{path}: unknown setting record.{key}; there are {', '.join(names)}")
    return {key: as_text(value) for key, value in table.items()}


def as_text(value: object) -> str:
    """Convert a TOML value to the form in which a flag would give it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(map(as_text, value))
    return str(value)


def resolve(flags: Mapping[str, str | None], environ: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables, name to value, for every setting that has a value."""
    return {setting.variable: value for setting, value, _ in effective_settings(flags, environ)}


def switched_on(flags: Mapping[str, str | None]) -> dict[str, str]:
    """Return the values of settings that a flag alone switches on, but for those that `flags` has already.

    Without the trace of GPUs, which only answers of single kernels need.
    """
    flag_values = {setting.name: setting.flag_value for setting in SETTINGS if setting.flag_value is not None}
    del flag_values["gpu-trace"]
    return {name: value for name, value in flag_values.items() if flags.get(name) is None}


def effective_settings(
    flags: Mapping[str, str | None], environ: Mapping[str, str]
) -> Iterator[tuple[Setting, str, str]]:
    """Yield every setting that has a value, with the value and its source."""
    files = [(path, read_file(path)) for path in config_files(environ)]
    for setting in SETTINGS:
        sources = [
            (setting.flags[-1], flags.get(setting.name)),
            (setting.variable, environ.get(setting.variable) or None),
        ]
        sources += [(f"{path}: record.{setting.name}", table.get(setting.name)) for path, table in files]
        for source, text in sources:
            if text is not None:
                yield setting, checked(setting, source, text), source
                break


def checked(setting: Setting, source: str, text: str) -> str:
    """Return `text` as a valid value of `setting`; raise an error that names its source."""
    try:
        value = setting.parse(text)
    except ValueError as error:
        raise UsageError(f"{source}: {text!r} is wrong, expected {error}") from error
    # A program that changes its directory before it starts another one must not split the run.
    if setting.name == "dir" and source != setting.variable:
        return os.path.abspath(value)
    return value
