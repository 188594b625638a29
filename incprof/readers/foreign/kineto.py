"""Trace events of Kineto, PyTorch's profiler: operators, kernels of devices, marks, Python's functions."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from incprof.readers.foreign.interpreted import frame_of
from incprof.readers.foreign.timeline import Frame
from incprof.symbols.ownership import is_shared_source

OPERATOR, RUNTIME, DEVICE, MARK, PYTHON, LEFT_OUT = range(6)
# By category; older versions capitalise some. Left out: slices that span the whole trace, the profiler's own work, and
# copies of marks on a device.
KINDS = {
    "cpu_op": OPERATOR, "operator": OPERATOR,
    "cuda_runtime": RUNTIME, "cuda_driver": RUNTIME, "runtime": RUNTIME, "xpu_runtime": RUNTIME, "hip_runtime": RUNTIME,
    "kernel": DEVICE, "gpu_memcpy": DEVICE, "gpu_memset": DEVICE, "memcpy": DEVICE, "memset": DEVICE,
    "user_annotation": MARK, "python_function": PYTHON,
    "trace": LEFT_OUT, "overhead": LEFT_OUT, "gpu_user_annotation": LEFT_OUT,
}  # fmt: skip
TORCH, CUDA = "[torch]", "[cuda]"
# `model.py(12): forward`; a file in a directory of packages is shown without that directory.
FUNCTION = re.compile(r"(.+)\((\d{1,9})\): (.+)")
STEP = re.compile(r"ProfilerStep#\d+")
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
PACKAGES = frozenset({*sys.stdlib_module_names, "torch", "torchvision", "torchaudio", "numpy"})


def kind_of(event: Mapping[str, Any]) -> int | None:
    """Return the kind of an event; None if it is not Kineto's."""
    kind = KINDS.get(str(event.get("cat")).lower())
    return None if kind == DEVICE and not isinstance(event.get("args"), dict) else kind


def stream_of(event: Mapping[str, Any]) -> tuple[int, int]:
    """Return the device, and the stream of it, that a kernel or a copy ran on."""
    return int(event["args"].get("device", event["pid"])), int(event["args"].get("stream", event["tid"]))


def slice_frame(name: str, kind: int | None, device: int) -> Frame | None:
    """Return the frame of a slice of the given kind; None if it is not a function."""
    if kind == OPERATOR:
        return Frame(TORCH, name)
    if kind == RUNTIME:
        return Frame(CUDA, name, shared=True)
    if kind == DEVICE:
        return Frame("", f"[GPU {device}] {name}")
    if kind == MARK:
        return Frame("", f"[{'ProfilerStep' if STEP.fullmatch(name) else name}]")
    if kind == PYTHON:
        return _python(name)
    return frame_of(name)


def below_python(frames: Sequence[Frame]) -> list[Frame]:
    """Return frames with operators as library functions, which they are if the program's own functions are known."""
    return [frame._replace(shared=True) if frame.module == TORCH else frame for frame in frames]


def _python(name: str) -> Frame | None:
    match = FUNCTION.fullmatch(name)
    if match is None:  # built-in functions, and modules of a model
        return Frame(TORCH, ADDRESS.sub("", name), shared=True)
    file, line = match[1], int(match[2])
    frame = frame_of(match[3], file, line, line)
    if frame and not is_shared_source(file) and file.partition("/")[0].removesuffix(".py") in PACKAGES:
        return frame._replace(module="[python]", shared=True)
    return frame
