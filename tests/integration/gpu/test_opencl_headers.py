"""gpu/include/opencl.h against Khronos' own headers (Debian: opencl-c-headers), compiled together."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
VALUES = {
    "OPENCL_OK": "CL_SUCCESS",
    "OPENCL_NOT_PROFILED": "CL_PROFILING_INFO_NOT_AVAILABLE",
    "OPENCL_INVALID_VALUE": "CL_INVALID_VALUE",
    "OPENCL_COMPLETE": "CL_COMPLETE",
    "QUEUE_OUT_OF_ORDER": "CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE",
    "QUEUE_PROFILING": "CL_QUEUE_PROFILING_ENABLE",
    "QUEUE_ON_DEVICE": "CL_QUEUE_ON_DEVICE",
    "MAP_INVALIDATES": "CL_MAP_WRITE_INVALIDATE_REGION",
    "OPENCL_DEVICE_NAME": "CL_DEVICE_NAME",
    "QUEUE_DEVICE": "CL_QUEUE_DEVICE",
    "QUEUE_PROPERTIES": "CL_QUEUE_PROPERTIES",
    "QUEUE_PROPERTIES_ARRAY": "CL_QUEUE_PROPERTIES_ARRAY",
    "IMAGE_ELEMENT_SIZE": "CL_IMAGE_ELEMENT_SIZE",
    "KERNEL_FUNCTION_NAME": "CL_KERNEL_FUNCTION_NAME",
    "EVENT_COMMAND_QUEUE": "CL_EVENT_COMMAND_QUEUE",
    "EVENT_STATUS": "CL_EVENT_COMMAND_EXECUTION_STATUS",
    "PROFILING_QUEUED": "CL_PROFILING_COMMAND_QUEUED",
    "PROFILING_START": "CL_PROFILING_COMMAND_START",
    "PROFILING_END": "CL_PROFILING_COMMAND_END",
    "LAYER_API_VERSION": "CL_LAYER_API_VERSION",
    "LAYER_NAME": "CL_LAYER_NAME",
    "LAYER_API_VERSION_100": "CL_LAYER_API_VERSION_100",
}
# A type that differs is an error of the second declaration.
SOURCE = """
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include "opencl.h"
#define CHECK(place, result, name, parameters, ...)                                                                  \\
    _Static_assert(__builtin_types_compatible_p(type_##name *, __typeof__(((cl_icd_dispatch *)0)->name)), #name);    \\
    _Static_assert(offsetof(cl_icd_dispatch, name) == AT_##name * sizeof(void *), #name);
OPENCL_FUNCTIONS(CHECK)
_Static_assert(sizeof(cl_icd_dispatch) <= MOST_FUNCTIONS * sizeof(void *), "all functions have a place");
"""


@pytest.mark.slow
def test_types_values_and_places_are_those_of_the_headers(tmp_path: Path) -> None:
    if not Path("/usr/include/CL/cl_layer.h").exists():
        pytest.skip("opencl-c-headers is not installed")
    checks = "".join(f'_Static_assert({ours} == {theirs}, "{ours}");\n' for ours, theirs in VALUES.items())
    (tmp_path / "layout.c").write_text(SOURCE + checks)
    words = ["gcc", "-fsyntax-only", f"-I{REPOSITORY}/gpu/include", str(tmp_path / "layout.c")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
