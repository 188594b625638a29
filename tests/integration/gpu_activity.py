"""What a recording holds of devices."""

from __future__ import annotations

from incprof.systems.gpu.read import GpuActivity, read_gpu
from tests.integration.collector import Recording


def activity_in(recording: Recording, name: str = "rank-00000.gmon") -> GpuActivity:
    """Return the activity in a stream that is undamaged."""
    found = read_gpu(str(recording.directory / name))
    assert found is not None
    assert found.damaged == 0
    return found
