"""JSON that somebody else wrote: within limits, and with nothing in its strings that cannot be a name."""

from __future__ import annotations

import json
import re
from typing import Any

# Small enough for anything in it.
SMALL = 1 << 20
# What an empty list and a small object take in memory, bytes, and how often the text's own size all of them may take.
LIST, OBJECT, MOST_TIMES = 80, 180, 8
# NUL ends a name, and half a character is none; the halves that stand for bytes which are not UTF-8 are kept.
NO_NAME = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
INSTEAD = "\ufffd"


def parse_json(data: bytes, *, most_times: int = MOST_TIMES) -> Any:
    """Return what a JSON text says, if that takes at most so many times its bytes.

    Bytes that are not UTF-8 become what os.fsencode turns into these bytes again.

    Raises: ValueError when it is no JSON, is nested too deeply, or would take far more memory than it has bytes.
    """
    if len(data) > SMALL and LIST * data.count(b"[") + OBJECT * data.count(b"{") > most_times * len(data):
        raise ValueError("hardly anything but brackets")
    try:
        found = json.loads(data.decode("utf-8", "surrogateescape"))
        return _clean(found) if b"\\u" in data else found
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return NO_NAME.sub(INSTEAD, value)
    if isinstance(value, list):
        return [_clean(each) for each in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(each) for key, each in value.items()}
    return value
