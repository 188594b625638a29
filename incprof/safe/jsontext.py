"""JSON from others: parsed within limits, and without characters in its strings that no name can contain."""

from __future__ import annotations

import json
import re
from typing import Any

# Small enough for any use.
SMALL = 1 << 20
# Memory of an empty list and a small object, bytes; and the most that all values may take, as a multiple of the text.
LIST, OBJECT, MOST_TIMES = 80, 180, 8
# NUL ends a name, and an unpaired surrogate is not a character; surrogates that encode non-UTF-8 bytes are kept.
NO_NAME = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
INSTEAD = "\ufffd"


def parse_json(data: bytes, *, most_times: int = MOST_TIMES) -> Any:
    """Parse a JSON text, if the result takes at most so many times its bytes.

    Bytes that are not UTF-8 become characters that os.fsencode turns into these bytes again.

    Raises: ValueError if it is not JSON, is nested too deeply, or would take far more memory than it has bytes.
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
