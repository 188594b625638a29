"""gpu/include/cupti.h against NVIDIA's own headers, which are fetched from PyPI and compiled, not kept."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
WHEELS = ("nvidia-cuda-cupti-cu12==12.9.79", "nvidia-cuda-runtime-cu12==12.9.79", "nvidia-cuda-nvcc-cu12==12.9.86")
OFFSETS = {
    "KERNEL_START": ("CUpti_ActivityKernel9", "start"),
    "KERNEL_END": ("CUpti_ActivityKernel9", "end"),
    "KERNEL_DEVICE": ("CUpti_ActivityKernel9", "deviceId"),
    "KERNEL_STREAM": ("CUpti_ActivityKernel9", "streamId"),
    "KERNEL_CORRELATION": ("CUpti_ActivityKernel9", "correlationId"),
    "KERNEL_NAME": ("CUpti_ActivityKernel9", "name"),
    "KERNEL_GRAPH": ("CUpti_ActivityKernel9", "graphId"),
    "COPY_KIND": ("CUpti_ActivityMemcpy6", "copyKind"),
    "COPY_BYTES": ("CUpti_ActivityMemset4", "bytes"),
    "COPY_START": ("CUpti_ActivityMemcpyPtoP4", "start"),
    "COPY_END": ("CUpti_ActivityMemcpy6", "end"),
    "COPY_DEVICE": ("CUpti_ActivityMemset4", "deviceId"),
    "COPY_STREAM": ("CUpti_ActivityMemcpyPtoP4", "streamId"),
    "COPY_CORRELATION": ("CUpti_ActivityMemset4", "correlationId"),
    "PEER_CORRELATION": ("CUpti_ActivityMemcpyPtoP4", "correlationId"),
    "DEVICE_NUMBER": ("CUpti_ActivityDevice5", "id"),
    "DEVICE_NAME": ("CUpti_ActivityDevice5", "name"),
    "SYNC_TYPE": ("CUpti_ActivitySynchronization2", "type"),
    "SYNC_START": ("CUpti_ActivitySynchronization2", "start"),
    "SYNC_END": ("CUpti_ActivitySynchronization2", "end"),
    "SYNC_STREAM": ("CUpti_ActivitySynchronization2", "streamId"),
    "CALLBACK_SITE": ("CUpti_CallbackData", "callbackSite"),
    "CALLBACK_CORRELATION": ("CUpti_CallbackData", "correlationId"),
}
VALUES = {
    "CUPTI_TOO_MANY": "CUPTI_ERROR_MAX_LIMIT_REACHED",
    "CUPTI_HAS_OTHER": "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
    "DOMAIN_DRIVER": "CUPTI_CB_DOMAIN_DRIVER_API",
    "DOMAIN_RUNTIME": "CUPTI_CB_DOMAIN_RUNTIME_API",
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


@pytest.mark.slow
def test_offsets_and_values_are_those_of_the_headers(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tmp_path), *WHEELS]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("the wheels with NVIDIA's headers cannot be fetched here")
    checks = [f"_Static_assert({ours} == offsetof({of}, {field}), {ours!s});" for ours, (of, field) in OFFSETS.items()]
    checks += [f"_Static_assert((int){ours} == (int){theirs}, {ours!s});" for ours, theirs in VALUES.items()]
    checks += [
        f"_Static_assert({number} == {name}, {number});".replace(f", {number})", f', "{name}")')
        for number, name in zip(*launch_callbacks(), strict=True)
    ]
    text = "\n".join(re.sub(r", (\w+)\);$", r', "\1");', check) for check in checks)
    source = tmp_path / "layout.c"
    source.write_text(f'#include <stddef.h>\n#include <cupti.h>\n#include "{REPOSITORY}/gpu/include/cupti.h"\n{text}\n')
    includes = [f"-I{tmp_path}/nvidia/{part}/include" for part in ("cuda_cupti", "cuda_runtime", "cuda_nvcc")]
    built = subprocess.run(
        ["gcc", "-fsyntax-only", *includes, str(source)], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    check_copy_callbacks(tmp_path / "nvidia" / "cuda_cupti" / "include")


def check_copy_callbacks(headers: Path) -> None:
    """Check that the ranges in gpu/cupti_launches.c hold all copies and memsets of NVIDIA's, and nothing else."""
    for domain in ("driver", "runtime"):
        ours = {*callbacks(domain, "COPIES")}
        header = (headers / f"cupti_{domain}_cbid.h").read_text()
        theirs = {int(number): name for name, number in re.findall(r"(\w+_CBID_cu\w+) *= (\d+),", header)}
        assert ours == {number for number, name in theirs.items() if re.search(r"CBID_cu(da|64)?Mem(cpy|set)", name)}


def callbacks(domain: str, call: str) -> list[int]:
    """Return the numbers of a domain's functions in gpu/cupti_launches.c that do this."""
    text = (REPOSITORY / "gpu" / "cupti_launches.c").read_text()
    ranges = re.findall(rf"{{DOMAIN_{domain.upper()}, {call}, (\d+), (\d+)}}", text)
    return [number for first, last in ranges for number in range(int(first), int(last) + 1)]


def launch_callbacks() -> tuple[list[int], list[str]]:
    """Return the numbers in gpu/cupti_launches.c, and NVIDIA's names for them."""
    names = {
        ("driver", "LAUNCHES"): [f"CUPTI_DRIVER_TRACE_CBID_cu{name}" for name in (
            "Launch", "LaunchGrid", "LaunchGridAsync", "LaunchKernel", "LaunchKernel_ptsz", "LaunchCooperativeKernel",
            "LaunchCooperativeKernel_ptsz", "LaunchKernelEx", "LaunchKernelEx_ptsz")],
        ("driver", "LAUNCHES_GRAPH"): [f"CUPTI_DRIVER_TRACE_CBID_cu{name}" for name in (
            "GraphLaunch", "GraphLaunch_ptsz")],
        ("runtime", "LAUNCHES"): [f"CUPTI_RUNTIME_TRACE_CBID_cuda{name}" for name in (
            "Launch_v3020", "LaunchKernel_v7000", "Launch_ptsz_v7000", "LaunchKernel_ptsz_v7000",
            "LaunchCooperativeKernel_v9000", "LaunchCooperativeKernel_ptsz_v9000", "LaunchKernelExC_v11060",
            "LaunchKernelExC_ptsz_v11060")],
        ("runtime", "LAUNCHES_GRAPH"): [f"CUPTI_RUNTIME_TRACE_CBID_cuda{name}" for name in (
            "GraphLaunch_v10000", "GraphLaunch_ptsz_v10000")],
    }  # fmt: skip
    numbers = list[int]()
    for (domain, call), expected in names.items():
        own = callbacks(domain, call)
        assert len(own) == len(expected)
        numbers += own
    return numbers, [name for expected in names.values() for name in expected]
