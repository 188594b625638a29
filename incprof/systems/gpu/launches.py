"""Names of kernels, and the functions and lines that launch them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from incprof.model import IntArray
from incprof.readers.stream.interval_images import RecordedPaths
from incprof.report.words.display_names import short
from incprof.study.study import Study
from incprof.symbols.demangle import display_names
from incprof.symbols.python_code import line_at
from incprof.symbols.source_lines import chains_of
from incprof.systems.gpu.read import GpuActivity

# Names of OpenMP's target regions by incprof, because OpenMP gives none; and of their kernels by clang and nvc.
UNNAMED_REGION = "target_region"
TARGET_REGION = re.compile(r"(?:__omp_offloading_[0-9a-f]+_[0-9a-f]+|nvkernel)_(.+)_(?:l|F\d+L)(\d+)(?:_\d+)?")
# File and line of the call in the innermost function of a launching path, by node.
Places = dict[int, tuple[str, int]]


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
        names[number] = f"nvkernel_{functions_to(node, paths)[-1]}_F1L{places.get(node, ('', 0))[1]}_1"
    return replace(activity, kernels=kernels, copies=copies, names=names)


def _own_node(node: int, paths: RecordedPaths) -> int:
    """Return the innermost node of a path that is the program's own; the path's last one if none is."""
    for at in reversed(paths.path_to(node)):
        function = paths.functions[int(paths.tree.function[at])] if paths.tree.function[at] >= 0 else None
        if function and not (function.system or function.imported or RUNTIMES.fullmatch(Path(function.module).name)):
            return at
    return node


def places_of(study: Study, paths: RecordedPaths | None, nodes: Iterable[int]) -> Places:
    """Return where kernels and copies are launched, as far as the program has lines."""
    if paths is None:
        return {}
    out, by_module = Places(), dict[str, list[int]]()
    for node in sorted(each for each in {*nodes} if each > 0):
        module = paths.modules.get(int(paths.module[node])) if node < len(paths.module) else None
        if module is None:
            continue
        if module.code is None:
            by_module.setdefault(module.name, []).append(node)
        elif line := line_at(module.code, int(paths.tree.address[node])):
            out[node] = (module.path, line)
    for name, within in by_module.items():
        addresses = [int(paths.tree.address[node]) for node in within]
        chains = chains_of(study.run, study.recorded, name, addresses, exe=study.exe)
        for node, chain in zip(within, chains, strict=True):
            if chain and chain[0].line:
                out[node] = (chain[0].file, chain[0].line)
    return out


def kernel_name(name: str) -> str:
    """Return the demangled name of a kernel; of an OpenMP target region, its function and line."""
    if region := TARGET_REGION.fullmatch(name):
        line = f":{region[2]}" if region[2] != "0" else ""
        return f"{short(display_names([region[1]])[0])}{line} (target region)"
    return display_names([name])[0] if name else "[unknown kernel]"


def functions_to(node: int, paths: RecordedPaths | None) -> list[str]:
    """Return the functions on a launching path, outermost first; empty for an unknown one."""
    if paths is None:
        return []
    numbers = [int(paths.tree.function[at]) for at in paths.path_to(node)]
    return [paths.functions[number].name for number in numbers if number >= 0]
