"""The functions of libappekg for Python."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from appekg._loading import library


def init(
    directory: str | os.PathLike[str] | None = None,
    sinks: str | Iterable[str] | None = None,
    interval_s: float = 0,
    rate_factor: int = 0,
    start_off: bool = False,
) -> bool:
    """Start heartbeats. Optional: the first beat starts them too, with environment and defaults.

    The environment overrides all arguments.

    Args:
        directory: The run directory (EKG_DIR; default ekg-<app>[-<job>]).
        sinks: file, prometheus, ldms or none, several as a list or separated by commas (EKG_SINK; default file).
        interval_s: Seconds, 0.001 to 86400 (EKG_INTERVAL; default 1).
        rate_factor: Record one beat in this many, of every id without a rate of its own (EKG_RATE; default 1).
        start_off: Record nothing before `enable` is called (EKG_START).

    Returns:
        Whether heartbeats are running; if not, a line on stderr gives the reason, unless EKG_DISABLE is set. If they
        were already running, the arguments are ignored.

    Raises:
        ImportError: libappekg was not found.
        OverflowError: rate_factor is not within 0 .. 2**32-1.
        ValueError: a text contains a zero byte.
    """
    ffi = library.ffi
    words = sinks if isinstance(sinks, str) else ",".join(sinks or ())
    # The library copies the text; these two keep it alive until then.
    place, names = _text(ffi, os.fsencode(directory or "")), _text(ffi, words.encode())
    options = {
        "directory": place,
        "sinks": names,
        "interval_s": interval_s,
        "rate_factor": rate_factor,
        "start_off": bool(start_off),
    }
    return library.ekg_init(ffi.new("struct ekg_options *", options)) >= 0


def _text(ffi: Any, text: bytes) -> Any:
    """Return a C string; NULL, which selects the default, for an empty one."""
    return ffi.new("char[]", _without_zero(text)) if text else ffi.NULL


def _without_zero(text: bytes) -> bytes:
    """Return the bytes, unless they contain a zero byte."""
    if b"\0" in text:
        raise ValueError(f"{text!r} holds a zero byte")
    return text


def begin(id: int) -> None:
    """Begin a beat of `id` (0 .. 2**32-1, else OverflowError). Beats of one id nest."""
    library.ekg_begin(id)


def end(id: int) -> None:
    """End the innermost open beat of `id` in this thread; if there is none, the oldest one in another thread."""
    library.ekg_end(id)


def pulse(id: int) -> None:
    """Emit a beat of `id` without a duration."""
    library.ekg_pulse(id)


def name(id: int, text: str) -> None:
    """Name `id`, before or after its first beat. 119 bytes of UTF-8 are kept.

    Raises:
        ValueError: the text contains a zero byte.
    """
    library.ekg_name(id, _without_zero(text.encode("utf-8", "replace")))


def rate(id: int, factor: int) -> None:
    """Record only 1 beat of `id` in `factor` from now on."""
    library.ekg_rate(id, factor)


def enable() -> None:
    """Switch recording on."""
    library.ekg_enable()


def disable() -> None:
    """Switch recording off. Open beats are discarded."""
    library.ekg_disable()


def is_enabled() -> bool:
    """Return whether beats are recorded."""
    return bool(library.ekg_is_enabled())


def finalize() -> None:
    """Write the open interval and end heartbeats for good: later calls do nothing. Called automatically at exit."""
    library.ekg_finalize()
