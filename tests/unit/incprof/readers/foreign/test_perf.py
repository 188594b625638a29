"""What perf script prints besides samples, packed, and without times."""

import gzip

import pytest

from incprof.cli.main import main
from incprof.readers.run import open_run, read_profile
from tests.unit.imports import bring, paths, put

SAMPLE = "app 7/7 [000] {:.6f}:   10000000 cpu-clock:u: \n\t     1f {} (/app)\n\t     2f main (/app)\n\n"
SAMPLES = "".join(SAMPLE.format(1 + at / 100, "solve" if at < 60 else "io") for at in range(1, 101))
AS_PATHS = {"main;solve": 0.59, "main;io": 0.41}


@pytest.mark.parametrize(
    "between",
    [
        "app 7/7 [000] 1.505: PERF_RECORD_MMAP2 7/7: [0x5000(0x1000) @ 0x1000 08:01 99 0]: r-xp /usr/lib/libm.so.6\n",
        "app 7/7 1.505000: PERF_RECORD_COMM exec: app:7/7\napp 7 1.505: PERF_RECORD_EXIT(7:7):(1:1)\n",
        ":0 0 0.000000: PERF_RECORD_MMAP -1/0: [0xffff(0x1) @ 0]: x [kernel.kallsyms]_text\n",
        "app 7/7 [000] 1.505: PERF_RECORD_NAMESPACES 7/7 - nr_namespaces: 7\n\t\t[0/net: 4/0xf0000075\n",
        "app 7/7 [001] 1.505000:          1 sched:sched_switch: prev_comm=app prev_pid=7 ==> next_comm=swapper\n\n",
        "app 7/7 [001] 1.505000:          1 bpf:output: \n      BPF output: 0000: 01 00\n\t  2f main (/app)\n\n",
    ],
)  # fmt: skip
def test_records_between_samples(between, tmp_path, capsys):
    half = SAMPLES.index("app 7/7", len(SAMPLES) // 2)
    profile = bring(tmp_path, put(tmp_path / "p", (between + SAMPLES[:half] + between + SAMPLES[half:]).encode()))
    assert paths(profile) == AS_PATHS
    assert "belong to no sample" not in capsys.readouterr().err


def test_lost_samples_are_counted(tmp_path, capsys):
    lost = "app 7/7 [000] 1.{}: PERF_RECORD_{} lost {}\n"
    text = lost.format("205000", "LOST", 30) + SAMPLES + lost.format("905000", "LOST_SAMPLES", 12)
    profile = bring(tmp_path, put(tmp_path / "p", text.encode()), "-i", "0.5")
    assert profile.counters.lost.tolist() == [30, 12]
    assert "perf lost 42 samples" in capsys.readouterr().err


def test_packed_text(tmp_path, capsys):
    packed = gzip.compress(SAMPLES.encode(), mtime=0)
    assert paths(bring(tmp_path, put(tmp_path / "p.gz", packed))) == AS_PATHS
    assert main(["import", str(put(tmp_path / "cut.gz", packed[:-9])), "-o", str(tmp_path / "cut")]) == 4
    assert "cannot be unpacked to its end" in capsys.readouterr().err


@pytest.mark.parametrize("head", ["app 7 \n", "app     7    cpu-clock:u: \n", "app 7/7 [000]     1 cycles: \n"])
def test_samples_without_times(head, tmp_path, capsys):
    text = f"{head}\t            11b3 main+0x43 (/app)\n\t           29d8f __libc_start_main (/libc.so.6)\n\n" * 9
    assert main(["import", str(put(tmp_path / "p", text.encode())), "-o", str(tmp_path / "run")]) == 4
    assert "its samples have no times: print them with perf script -F +time" in capsys.readouterr().err


def test_other_text_is_damage(tmp_path):
    file = put(tmp_path / "p", (SAMPLES + "hello\n").encode())
    assert main(["import", str(file), "-o", str(tmp_path / "run")]) == 5
    assert paths(read_profile(open_run(tmp_path / "run"))) == AS_PATHS
