"""Files of simpleperf report-sample --protobuf."""

import struct

import pytest

from incprof.cli.main import main
from incprof.readers.run import open_run, read_profile
from soak.mutate import damaged
from tests.unit.imports import bring, message, paths, put

APP, LIBC = 1, 2


def sample(at_ms, *chain, thread=10, count=10_000_000, event=0):
    """A sample of some functions, (file, symbol), innermost first; symbol -1 is unknown."""
    places = [(3, message((1, 0x10), (2, file), (3, symbol))) for file, symbol in chain]
    return message((1, message((1, 10**9 + at_ms * 10**6), (2, thread), *places, (4, count), (5, event))))


def recorded(*records, event=b"task-clock:u"):
    known = [
        message((3, message((1, APP), (2, b"/data/local/tmp/app"), (3, b"main"), (3, b"solve")))),
        message((3, message((1, LIBC), (2, b"/apex/com.android.runtime/lib64/bionic/libc.so"), (3, b"read")))),
        message((4, message((1, 9), (2, 9), (3, b"app")))),
        message((4, message((1, 10), (2, 9), (3, b"worker")))),
        message((5, message((1, event), (1, b"sched:sched_switch")))),
    ]
    sized = b"".join(struct.pack("<I", len(each)) + each for each in (*records, *known))
    return b"SIMPLEPERF" + struct.pack("<H", 1) + sized + bytes(4)


SAMPLES = [sample(10 * at, (APP, 1), (APP, 0)) for at in range(1, 7)] + [sample(70, (LIBC, 0), (APP, 0), thread=9)]


@pytest.mark.parametrize("event", [b"task-clock:u", b"cpu-cycles"])
def test_samples(event, tmp_path, capsys):
    lost = message((2, message((1, 7), (2, 40))))
    others = sample(35, (APP, 0), event=1), sample(80, (APP, -1))
    profile = bring(tmp_path, put(tmp_path / "p.trace", recorded(*SAMPLES, *others, lost, event=event)))
    assert paths(profile) == {"main;solve": 0.06, "main": 0.01, "[unknown in app]": 0.01}
    assert profile.metadata.app == "app"
    assert profile.counters.lost.sum() == 40
    said = capsys.readouterr().err
    assert "simpleperf lost 40 samples" in said
    assert "1 samples of other events are left out" in said


@pytest.mark.parametrize("seed", range(60))
def test_damaged(seed, tmp_path):
    file = put(tmp_path / "p", damaged(seed, recorded(*SAMPLES)))
    status = main(["import", str(file), "-o", str(tmp_path / "run"), "--from", "simpleperf"])
    assert status in (0, 4)
    if not status:
        read_profile(open_run(tmp_path / "run"), libs="named", inlined=True)
