"""Names of kernels, and the functions and lines that launch them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from incprof.model import IntArray
from incprof.readers.stream.interval_images import RecordedPaths
from incprof.report.words.display_names import short
from incprof.study.recorded_paths import places_of
from incprof.study.study import Study
from incprof.symbols.demangle import display_names
from incprof.systems.gpu.read import GpuActivity

# Names of OpenMP's target regions by incprof, because OpenMP gives none; and of their kernels by clang and nvc.
UNNAMED_REGION = "target_region"
TARGET_REGION = re.compile(r"(?:__omp_offloading_[0-9a-f]+_[0-9a-f]+|nvkernel)_(.+)_(?:l|F\d+L)(\d+)(?:_\d+)?")
# Run-times that may lie outside of the system's directories.
RUNTIMES = re.compile(r"lib(omp|iomp5|omptarget)\b.*")


def launched_by_program(study: Study, activity: GpuActivity, paths: RecordedPaths | None) -> GpuActivity:
    """Return the activity with launching paths that end in the program's own code, without packages and libraries.

    OpenMP's target regions are named by them.
    """
    if paths is None:
        return activity

    def own(nodes: IntArray) -> IntArray:
        every, index = np.unique(nodes, return_inverse=True)
        return np.array([_own_node(int(node), paths) for node in every], dtype=nodes.dtype)[index]

    kernels, copies = (replace(rows, node=own(rows.node)) for rows in (activity.kernels, activity.copies))
    found = {number for number, name in activity.names.items() if name.startswith(UNNAMED_REGION)}
    rows = zip(kernels.what.tolist(), kernels.node.tolist(), strict=True) if found else ()
    nodes = {number: node for number, node in rows if number in found and functions_to(node, paths)}
    places, names = places_of(study, paths, nodes.values()), dict(activity.names)
    for number, node in nodes.items():
        names[number] = f"nvkernel_{functions_to(node, paths)[-1]}_F1L{places[node].line if node in places else 0}_1"
    return replace(activity, kernels=kernels, copies=copies, names=names)


def _own_node(node: int, paths: RecordedPaths) -> int:
    """Return the innermost node of a path that is the program's own; the path's last one if none is."""
    for at in reversed(paths.path_to(node)):
        function = paths.functions[int(paths.tree.function[at])] if paths.tree.function[at] >= 0 else None
        if function and not (function.system or function.imported or RUNTIMES.fullmatch(Path(function.module).name)):
            return at
    return node


def kernel_name(name: str) -> str:
    """Return the demangled name of a kernel; of an OpenMP target region, its function and line."""
    if region := TARGET_REGION.fullmatch(name):
        line = f":{region[2]}" if region[2] != "0" else ""
        return f"{short(display_names([region[1]])[0])}{line} (target region)"
    return display_names([name])[0] if name else "[unknown kernel]"


def functions_to(node: int, paths: RecordedPaths | None) -> list[str]:
    """Return the functions on a launching path, outermost first; empty for an unknown one."""
    return [] if paths is None else [function.name for function in paths.functions_to(node)]
