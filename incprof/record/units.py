"""Times and rates in human notation: 250ms, 2m, 0.5; 250, 1kHz."""

from __future__ import annotations

import argparse
import re

# A plain number is seconds.
SECONDS = {"": 1.0, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
NUMBER = r"[0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12}|[0-9](?:\.[0-9]{1,9})?[eE][+-]?[0-9]{1,2}"
FORMS = "a time such as 0.5, 250ms or 2m"
HERTZ = {"": 1.0, "Hz": 1.0, "hz": 1.0, "kHz": 1000.0, "khz": 1000.0}
RATES = "a rate such as 250, 250Hz or 1kHz"


def seconds(text: str) -> float:
    """Return a time in seconds, 0 or more.

    Raises:
        ValueError: it is not a time; the message describes the expected form.
    """
    match = re.fullmatch(rf"({NUMBER}) ?([a-z]*)", text)
    if match is None or match[2] not in SECONDS:
        raise ValueError(FORMS)
    return float(match[1]) * SECONDS[match[2]]


def hertz(text: str) -> float:
    """Return a rate per second, 0 or more.

    Raises:
        ValueError: it is not a rate; the message describes the expected form.
    """
    match = re.fullmatch(rf"({NUMBER}) ?([A-Za-z]*)", text)
    if match is None or match[2] not in HERTZ:
        raise ValueError(RATES)
    return float(match[1]) * HERTZ[match[2]]


def rate(text: str) -> float:
    """Return the value per second of an option that is a rate.

    Raises:
        argparse.ArgumentTypeError: it is not a rate.
    """
    try:
        return hertz(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: expected {error}") from None


def time(text: str) -> float:
    """Return the value in seconds of an option that is a time.

    Raises:
        argparse.ArgumentTypeError: it is not a time.
    """
    try:
        return seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: expected {error}") from None
