"""What a recording holds of devices."""

from __future__ import annotations

from incprof.systems.gpu.read import RECORDED, GpuActivity, read_gpu
from tests.integration.collector import Outcome, Recording


def activity_in(recording: Recording, name: str = "rank-00000.gmon") -> GpuActivity:
    """Return the activity in a stream that is undamaged."""
    found = read_gpu(str(recording.directory / name))
    assert found is not None
    assert found.damaged == 0
    return found


def agrees(found: GpuActivity, outcome: Outcome) -> None:
    """Check counts and times against those that the program `gpu_host.c` printed: they are exact."""
    told = outcome.values()
    assert found.state == RECORDED
    assert found.totals.launches == found.totals.kernels == told["kernels"]
    assert found.kernels.count.sum() == told["kernels"]
    assert round(found.kernels.seconds.sum() * 1e9) == told["kernel_ns"]
    assert found.copies.bytes.sum() == told["copied"]
    assert round(found.synchronisations.seconds.sum() * 1e9) == told["waited_ns"]
    assert found.missing == 0
