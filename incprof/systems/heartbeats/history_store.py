"""A file of summaries of the heartbeats in an application's runs: SQLite (docs/use/heartbeats.md).

Several jobs may write at once: each addition is one transaction that takes the write lock first. The journal is the
classic one, not a write-ahead log: that needs memory shared by all writers, and jobs on different nodes share only a
file system.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from incprof.errors import IncprofError, UsageError
from incprof.safe.inputs import open_input

APPLICATION_ID = 0x454B4748  # "EKGH"
VERSION = 1
PATIENCE_S = 60.0
HEADER = 100
MAGIC = b"SQLite format 3\0"
QUANTILE_NAMES = ("q0", "q1", "q5", "q25", "q50", "q75", "q95", "q99", "q100")


@dataclass(frozen=True)
class BeatRow:
    """A heartbeat of a stored run: a row of the table `beats`. Quantiles: of per-interval means, in seconds."""

    id: int
    name: str | None
    rate_factor: float
    count: int
    pulses: int
    mean_s: float | None
    min_s: float | None
    max_s: float | None
    std_s: float | None
    p5_s: float | None
    p95_s: float | None
    rate_hz: float
    busy_pct: float
    q0: float | None = None
    q1: float | None = None
    q5: float | None = None
    q25: float | None = None
    q50: float | None = None
    q75: float | None = None
    q95: float | None = None
    q99: float | None = None
    q100: float | None = None


@dataclass(frozen=True)
class RunRow:
    """A stored run: a row of the table `runs`. `identity` is unique."""

    identity: str
    app: str
    exe: str
    argv: str
    host: str
    launch: str
    start_unix_ns: int
    ranks: int
    processes: int
    threads: int
    intervals: int
    interval_s: float
    duration_s: float
    clean: int
    damaged: int


RUN_COLUMNS = tuple(field.name for field in fields(RunRow))
BEAT_COLUMNS = tuple(field.name for field in fields(BeatRow))
SCHEMA = (
    "CREATE TABLE runs (run_id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, app TEXT NOT NULL,"
    " exe TEXT NOT NULL, argv TEXT NOT NULL, host TEXT NOT NULL, launch TEXT NOT NULL, start_unix_ns INTEGER NOT NULL,"
    " ranks INTEGER NOT NULL, processes INTEGER NOT NULL, threads INTEGER NOT NULL, intervals INTEGER NOT NULL,"
    " interval_s REAL NOT NULL, duration_s REAL NOT NULL, clean INTEGER NOT NULL, damaged INTEGER NOT NULL)",
    "CREATE TABLE beats (run_id INTEGER NOT NULL REFERENCES runs (run_id), id INTEGER NOT NULL, name TEXT,"
    " rate_factor INTEGER NOT NULL, count INTEGER NOT NULL, pulses INTEGER NOT NULL, mean_s REAL, min_s REAL,"
    " max_s REAL, std_s REAL, p5_s REAL, p95_s REAL, rate_hz REAL NOT NULL, busy_pct REAL NOT NULL, "
    + ", ".join(f"{name} REAL" for name in QUANTILE_NAMES)
    + ", PRIMARY KEY (run_id, id)) WITHOUT ROWID",
    "CREATE INDEX runs_of_app ON runs (app, ranks, start_unix_ns)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)


class Store:
    """The runs in a file, within one transaction (see `opened`)."""

    def __init__(self, connection: sqlite3.Connection):
        self._connection = connection

    def add(self, run: RunRow, beats: Sequence[BeatRow]) -> tuple[int, str]:
        """Store a run; return its number and `added`, `updated` (it has grown since stored) or `known`."""
        columns = ", ".join(RUN_COLUMNS)
        row = self._connection.execute(
            f"SELECT run_id, {columns} FROM runs WHERE identity = ?", (run.identity,)
        ).fetchone()
        if row is None:
            marks = ", ".join("?" * len(RUN_COLUMNS))
            values = tuple(asdict(run).values())
            number = self._connection.execute(f"INSERT INTO runs ({columns}) VALUES ({marks})", values).lastrowid
            assert number is not None
            self._add_beats(number, beats)
            return number, "added"
        number, old = int(row[0]), self._run(*row)
        now, before = (run.processes, run.duration_s, run.clean), (old.processes, old.duration_s, old.clean)
        if now == before or any(one < other for one, other in zip(now, before, strict=True)):
            return number, "known"
        assignments = ", ".join(f"{name} = ?" for name in RUN_COLUMNS)
        self._connection.execute(f"UPDATE runs SET {assignments} WHERE run_id = ?", (*asdict(run).values(), number))
        self._connection.execute("DELETE FROM beats WHERE run_id = ?", (number,))
        self._add_beats(number, beats)
        return number, "updated"

    def _add_beats(self, number: int, beats: Sequence[BeatRow]) -> None:
        """Store the heartbeats of a run."""
        marks = ", ".join("?" * (1 + len(BEAT_COLUMNS)))
        rows = [(number, *asdict(beat).values()) for beat in beats]
        self._connection.executemany(f"INSERT INTO beats (run_id, {', '.join(BEAT_COLUMNS)}) VALUES ({marks})", rows)

    def past(self, number: int) -> list[tuple[RunRow, list[BeatRow]]]:
        """Return the runs of the same application with as many ranks that started earlier, in that order."""
        columns = ", ".join(f"p.{name}" for name in RUN_COLUMNS)
        rows = self._connection.execute(
            f"SELECT p.run_id, {columns} FROM runs p JOIN runs r ON p.app = r.app AND p.ranks = r.ranks "
            "WHERE r.run_id = ? AND (p.start_unix_ns, p.run_id) < (r.start_unix_ns, r.run_id) "
            "ORDER BY p.start_unix_ns, p.run_id",
            (number,),
        ).fetchall()
        return [(self._run(*row), self._beats(row[0])) for row in rows]

    def _run(self, number: int, *values: object) -> RunRow:
        """Return a run; types are checked, since SQLite accepts any type in any column."""
        for field, value in zip(fields(RunRow), values, strict=True):
            if type(value).__name__ != field.type:
                raise sqlite3.DataError(f"run {number} is invalid: the file is damaged")
        return RunRow(*values)  # type: ignore[arg-type]

    def _beats(self, number: int) -> list[BeatRow]:
        """Return the heartbeats of a run, by id."""
        found = self._connection.execute(
            f"SELECT {', '.join(BEAT_COLUMNS)} FROM beats WHERE run_id = ? ORDER BY id", (number,)
        )
        return [BeatRow(*row) for row in found]

    def keep(self, app: str, ranks: int, newest: int) -> int:
        """Delete all but the newest runs of an application with that number of ranks; return how many were deleted."""
        old = self._connection.execute(
            "SELECT run_id FROM runs WHERE app = ? AND ranks = ? ORDER BY start_unix_ns DESC, run_id DESC "
            "LIMIT -1 OFFSET ?",
            (app, ranks, newest),
        ).fetchall()
        self._connection.executemany("DELETE FROM beats WHERE run_id = ?", old)
        self._connection.executemany("DELETE FROM runs WHERE run_id = ?", old)
        return len(old)


@contextmanager
def opened(path: str, patience_s: float = PATIENCE_S) -> Iterator[Store]:
    """Open a store, creating it if necessary; the body takes effect as a whole, or not at all.

    Raises:
        UsageError: the file is not a store, and is left unchanged; or its directory does not exist.
        IncprofError: the file is of a later version, damaged, locked for longer than `patience_s`, or not writable.
    """
    check_store(path)
    try:
        connection = sqlite3.connect(str(Path(path).absolute()), timeout=patience_s, isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE")
            _prepare(connection, path)
            yield Store(connection)
            connection.execute("COMMIT")
        finally:
            connection.close()  # without COMMIT, nothing has changed
    except UnicodeDecodeError as error:
        raise IncprofError(f"--history {path}: a name in it is not text: the file is damaged") from error
    except sqlite3.Error as error:
        why = "another process holds it: try again later" if "locked" in str(error) else str(error)
        raise IncprofError(f"--history {path}: {why}") from error


def check_store(path: str) -> None:
    """Refuse a file that is not a store, by its first bytes, without opening it as a database.

    Raises:
        UsageError: the file is not a store, or cannot become one.
    """
    file = Path(path)
    if not file.absolute().parent.is_dir():
        raise UsageError(f"--history {path}: there is no directory {file.parent}")
    if not file.exists():
        return
    try:
        with open_input(file) as raw:
            head = raw.read(HEADER)
    except OSError as error:
        raise UsageError(f"--history {path}: cannot be read: {error.strerror}") from error
    ours = head.startswith(MAGIC) and int.from_bytes(head[68:72], "big") == APPLICATION_ID
    if head and not ours:
        raise UsageError(f"--history {path}: not a history of heartbeats; give another file, it is not overwritten")


def _prepare(connection: sqlite3.Connection, path: str) -> None:
    """Create the tables of a new store; refuse one of a later version."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise IncprofError(f"--history {path}: version {version} is newer than this incprof's ({VERSION}): update it")
    if version == 0:
        for statement in SCHEMA:
            connection.execute(statement)
