"""A reader of heartbeat files as simple as can be, to compare with: valid files only, a line at a time."""

import json

from appekg.model import INTERVAL, ROW


def read_plainly(data, process=0):
    """Return rows and intervals as lists of tuples of the dtypes ROW (without executions and busy_ns) and INTERVAL."""
    names, *lines = data.decode().splitlines()[1:]
    names = names.split(",")
    rows, intervals, pending = [], [], []
    for line in lines:
        if line.startswith("#interval "):
            info = json.loads(line[10:])
            assert info["rows"] == len(pending)
            rows += [(process, len(intervals), *row) for row in sorted(pending)]
            intervals.append(tuple(info.get(name, name == "enabled") for name in INTERVAL.names))
            pending = []
        elif not line.startswith("#"):
            found = dict(zip(names, line.split(","), strict=True))
            pending.append(tuple(number(found.get(name, "0"), name) for name in ROW.names[2:-2]))
    return rows, intervals


def number(text, name):
    return float(text) if ROW[name].kind == "f" else int(text)


def plain(table, fields):
    """Return the rows of a structured array as tuples of some fields."""
    return table[list(fields)].tolist()
