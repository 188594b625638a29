"""gpu/include/cupti.h against NVIDIA's own headers, which are fetched from PyPI and compiled, not kept."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
# By major version of CUDA.
WHEELS = {
    11: ("nvidia-cuda-cupti-cu11==11.8.87", "nvidia-cuda-runtime-cu11==11.8.89", "nvidia-cuda-nvcc-cu11==11.8.89"),
    12: ("nvidia-cuda-cupti-cu12==12.9.79", "nvidia-cuda-runtime-cu12==12.9.79", "nvidia-cuda-nvcc-cu12==12.9.86"),
    13: ("nvidia-cuda-cupti==13.5.25", "nvidia-cuda-runtime==13.5.37", "nvidia-cuda-crt==13.5.37"),
}
# Records, without the number of their layout: CUPTI delivers the latest one that it knows.
OFFSETS = {
    "KERNEL_START": ("Kernel", "start"),
    "KERNEL_END": ("Kernel", "end"),
    "KERNEL_DEVICE": ("Kernel", "deviceId"),
    "KERNEL_STREAM": ("Kernel", "streamId"),
    "KERNEL_CORRELATION": ("Kernel", "correlationId"),
    "KERNEL_NAME": ("Kernel", "name"),
    "KERNEL_GRAPH": ("Kernel", "graphId"),
    "COPY_KIND": ("Memcpy", "copyKind"),
    "COPY_BYTES": ("Memset", "bytes"),
    "COPY_START": ("MemcpyPtoP", "start"),
    "COPY_END": ("Memcpy", "end"),
    "COPY_DEVICE": ("Memset", "deviceId"),
    "COPY_STREAM": ("MemcpyPtoP", "streamId"),
    "COPY_CORRELATION": ("Memset", "correlationId"),
    "PEER_CORRELATION": ("MemcpyPtoP", "correlationId"),
    "DEVICE_NUMBER": ("Device", "id"),
    "DEVICE_NAME": ("Device", "name"),
    "SYNC_TYPE": ("Synchronization", "type"),
    "SYNC_START": ("Synchronization", "start"),
    "SYNC_END": ("Synchronization", "end"),
    "SYNC_STREAM": ("Synchronization", "streamId"),
    "CALLBACK_SITE": ("CallbackData", "callbackSite"),
    "CALLBACK_RESULT": ("CallbackData", "functionReturnValue"),
    "CALLBACK_CORRELATION": ("CallbackData", "correlationId"),
}
VALUES = {
    "CUPTI_TOO_MANY": "CUPTI_ERROR_MAX_LIMIT_REACHED",
    "CUPTI_NOT_READY": "CUPTI_ERROR_NOT_INITIALIZED",
    "CUPTI_FORCED": "CUPTI_ACTIVITY_FLAG_FLUSH_FORCED",
    "CUPTI_HAS_OTHER": "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
    "DOMAIN_DRIVER": "CUPTI_CB_DOMAIN_DRIVER_API",
    "DOMAIN_RUNTIME": "CUPTI_CB_DOMAIN_RUNTIME_API",
    "DOMAIN_RESOURCE": "CUPTI_CB_DOMAIN_RESOURCE",
    "GRAPH_NODE_CREATED": "CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED",
    "SITE_ENTER": "CUPTI_API_ENTER",
    "SITE_EXIT": "CUPTI_API_EXIT",
    "ACTIVITY_DEVICE": "CUPTI_ACTIVITY_KIND_DEVICE",
    "ACTIVITY_MEMCPY": "CUPTI_ACTIVITY_KIND_MEMCPY",
    "ACTIVITY_MEMSET": "CUPTI_ACTIVITY_KIND_MEMSET",
    "ACTIVITY_KERNEL": "CUPTI_ACTIVITY_KIND_KERNEL",
    "ACTIVITY_CONCURRENT_KERNEL": "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
    "ACTIVITY_MEMCPY_PEER": "CUPTI_ACTIVITY_KIND_MEMCPY2",
    "ACTIVITY_SYNCHRONIZATION": "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "SYNC_STREAM_WAIT_EVENT": "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT",
}


# Functions by what they do, as gpu/cupti_launches.c lists their numbers.
CALLS = {
    "LAUNCHES": r"(__)?cu(da)?Launch(Grid|GridAsync|(Cooperative)?Kernel\w*)?(_ptsz)?(_v\d+)?",
    "LAUNCHES_GRAPH": r"cu(da)?GraphLaunch(_ptsz)?(_v\d+)?",
    "COPIES": r"cu(da|64)?Mem(cpy|set)\w*",
}


@pytest.mark.slow
@pytest.mark.parametrize("version", [*WHEELS])
def test_offsets_and_values_are_those_of_the_headers(version: int, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tmp_path), *WHEELS[version]]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("the wheels with NVIDIA's headers cannot be fetched here")
    (activity,) = tmp_path.rglob("cupti_activity.h")
    text = activity.read_text()
    checks = [
        f'_Static_assert({ours} == offsetof({latest(record, text)}, {field}), "{ours}");'
        for ours, (record, field) in OFFSETS.items()
    ]
    checks += [f'_Static_assert((int){ours} == (int){theirs}, "{ours}");' for ours, theirs in VALUES.items()]
    source, ours = tmp_path / "layout.c", REPOSITORY / "gpu" / "include" / "cupti.h"
    source.write_text("\n".join(["#include <stddef.h>", "#include <cupti.h>", f'#include "{ours}"', *checks, ""]))
    own = f"-iquote{REPOSITORY / 'runtime' / 'include'}"  # both have a cupti.h
    includes = [own, *(f"-I{path}" for path in tmp_path.glob("nvidia/*/include"))]
    built = subprocess.run(
        ["gcc", "-fsyntax-only", *includes, str(source)], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    for domain in ("driver", "runtime"):
        header = activity.with_name(f"cupti_{domain}_cbid.h").read_text()
        # CUDA 13 gives those that it has no longer names like `cuda44`.
        theirs = {int(number): name for name, number in re.findall(r"_CBID_(?!cuda\d)(\w+) *= (\d+),", header)}
        for call, names in CALLS.items():
            expected = {number for number, name in theirs.items() if re.fullmatch(names, name)}
            assert {*callbacks(domain, call)} & {*theirs} == expected, (domain, call)


def latest(record: str, header: str) -> str:
    """Return the name of the structure with the largest number."""
    if record == "CallbackData":
        return "CUpti_CallbackData"
    numbers = [int(number or 0) for number in re.findall(rf"}} CUpti_Activity{record}(\d*);", header)]
    return f"CUpti_Activity{record}{max(numbers) or ''}"


def callbacks(domain: str, call: str) -> list[int]:
    """Return the numbers of a domain's functions in gpu/cupti_launches.c that do this."""
    text = (REPOSITORY / "gpu" / "cupti_launches.c").read_text()
    ranges = re.findall(rf"{{DOMAIN_{domain.upper()}, {call}, (\d+), (\d+)}}", text)
    return [number for first, last in ranges for number in range(int(first), int(last) + 1)]
