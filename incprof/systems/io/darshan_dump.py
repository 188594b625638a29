"""Print a Darshan log as JSON, with pydarshan: a process of its own, because a damaged log can end it."""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

# By the module's name in the log: the prefix of its counters, and what counts its reads and its writes.
MODULES = {
    "POSIX": (("READS",), ("WRITES",)),
    "MPI-IO": (
        ("INDEP_READS", "COLL_READS", "SPLIT_READS", "NB_READS"),
        ("INDEP_WRITES", "COLL_WRITES", "SPLIT_WRITES", "NB_WRITES"),
    ),
    "STDIO": (("READS",), ("WRITES",)),
}
TRACED = ("DXT_POSIX", "DXT_MPIIO")
TIMES = ("F_READ_TIME", "F_WRITE_TIME", "F_META_TIME")
MISSING = 3


def dumped(path: str, backend: Any) -> dict[str, object]:
    """Return what a log has: its times, sums by file, module and rank, and transfers with their times."""
    log = backend.log_open(path)
    if not log["handle"]:
        raise ValueError("no log of Darshan")
    job, modules, names = (
        get(log) for get in (backend.log_get_job, backend.log_get_modules, backend.log_get_name_records)
    )
    files, segments = list[list[object]](), list[list[object]]()
    for module in modules:
        while module in MODULES and (record := backend.log_get_record(log, module, dtype="numpy")) is not None:
            files.append(_file(module, record, names, backend))
        while module in TRACED and (record := backend.log_get_dxt_record(log, module, dtype="dict")) is not None:
            for key, is_write in (("read_segments", 0), ("write_segments", 1)):
                segments += [
                    [module, int(record["rank"]), is_write, one["start_time"], one["end_time"], int(one["length"])]
                    for one in record[key]
                ]
    start_s, end_s = (job[f"{edge}_time_sec"] + job.get(f"{edge}_time_nsec", 0) * 1e-9 for edge in ("start", "end"))
    return {"start_s": start_s, "end_s": end_s, "processes": job["nprocs"], "files": files, "segments": segments}


def _file(module: str, record: dict[str, Any], names: dict[int, str], backend: Any) -> list[object]:
    """Return the module, the name, the rank, bytes read and written, calls and seconds of a record."""
    values = {
        name.split("_", 1)[1]: value
        for get, of in ((backend.counter_names, "counters"), (backend.fcounter_names, "fcounters"))
        for name, value in zip(get(module), record[of].tolist(), strict=True)
    }
    reads, writes = (sum(max(values.get(name, 0), 0) for name in counters) for counters in MODULES[module])
    seconds = sum(values[name] for name in TIMES)
    name = names.get(record["id"], "")
    return [module, name, int(record["rank"]), values["BYTES_READ"], values["BYTES_WRITTEN"], reads, writes, seconds]


def main() -> int:
    """Print the log that is the argument. Exit code MISSING without pydarshan."""
    try:
        backend = importlib.import_module("darshan.backend.cffi_backend")
    except ImportError:
        return MISSING
    # The library reports on standard output.
    out = os.dup(1)
    os.dup2(2, 1)
    text = json.dumps(dumped(sys.argv[1], backend))
    with os.fdopen(out, "w") as stream:
        stream.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
