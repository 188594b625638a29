"""Series of samples in every form that `periods` reads."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence

import numpy as np

from soak.mutate import mutate_binary, mutate_text
from soak.subject import Command, Subject, Tree
from tests.unit.test_readers_series import PERF, PERF_X

SAMPLES = 120


def _values() -> list[float]:
    dice = random.Random(1)
    return [round(1 + (i % 12 > 6) + dice.gauss(0, 0.03), 4) for i in range(SAMPLES)]


def texts() -> list[Tree]:
    """Tables of text, and what perf writes."""
    values = _values()
    tables = (
        "".join(f"{v}\n" for v in values),
        "time,ipc,cpu\n" + "".join(f"{i * 0.005:.3f},{v},{i % 3}\n" for i, v in enumerate(values)),
        "# made up\nt;a\n" + "".join(f"{i},0;{str(v).replace('.', ',')}\n" for i, v in enumerate(values)),
        "time_s\tx y\n" + "".join(f"{i}\t{v} 3\n" for i, v in enumerate(values[:20])),
        PERF * 20,
        PERF_X * 20,
    )
    return [{"series.csv": text.encode()} for text in tables]


def arrays() -> list[Tree]:
    """Arrays of numpy."""
    values, trees = np.array(_values()), []
    for array in (
        values,
        values.astype(np.float32),
        np.stack([values, values]).T,
        (values * 9).astype("<i4"),
        values > 1.5,
    ):
        out = io.BytesIO()
        np.save(out, array)
        trees.append({"series.npy": out.getvalue()})
    return trees


def tables() -> list[Tree]:
    """Parquet, where pyarrow is."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        return []
    trees = []
    columns = {"time": [i * 0.005 for i in range(SAMPLES)], "ipc": _values(), "name": ["x"] * SAMPLES}
    for compression in ("none", "snappy"):
        out = io.BytesIO()
        parquet.write_table(pa.table(columns), out, compression=compression)
        trees.append({"series.parquet": out.getvalue()})
    return trees


def commands(name: str, columns: Sequence[str]) -> tuple[tuple[float, Command], ...]:
    """Several ways to read it."""
    read: list[Command] = [("read-series", name), *(("read-series", name, column) for column in columns)]
    plain: list[Command] = [
        ("periods", name),
        ("periods", name, "--json"),
        ("periods", name, "--most", "1000", "--json"),
    ]
    plain += [("periods", name, "--column", column) for column in columns]
    return (*((100.0, words) for words in read), *((1.0, words) for words in plain))


# The detector of periods: of events, which any text has, and of numbers.
DETECTED: tuple[Command, ...] = (
    ("periods", "series.csv", "--events"),
    ("periods", "series.csv", "--events", "--tolerance", "--column", "2", "--json"),
    ("periods", "series.csv", "--method", "dpd", "--window", "30"),
    ("periods", "series.csv", "--method", "dpd", "--follow", "--idle", "0", "--json", "--column", "ipc"),
)


def subjects() -> list[Subject]:
    """All of them."""
    found = [
        Subject(
            "series-text",
            12,
            texts(),
            ".*",
            mutate_text,
            (*commands("series.csv", ("2", "ipc", "instructions/ref-cycles")), *((1.0, words) for words in DETECTED)),
        ),
        Subject("series-array", 10, arrays(), ".*", mutate_binary, commands("series.npy", ("1", "2/1"))),
    ]
    if parquets := tables():
        found.append(
            Subject(
                "series-parquet", 10, parquets, ".*", mutate_binary, commands("series.parquet", ("ipc", "ipc/time"))
            )
        )
    return found
