"""The model of a recorded run: its profile, its loops, its call tree. Every layer uses it."""

from incprof.model.arrays import BoolArray, FloatArray, IntArray, distinct, numbered
from incprof.model.calltree import OUTSIDE_LOOPS, UNKNOWN_CODE, CodeLoops
from incprof.model.functions import STANDARD, Code, Function, Module, module_label
from incprof.model.intervals import pooled
from incprof.model.profile import (
    BROKEN,
    ELIDED,
    LIBRARY,
    OWN,
    PROFILER,
    ROOT,
    UNKNOWN,
    Arcs,
    Counters,
    Inlined,
    IntervalProfile,
    Metadata,
    PathTree,
    Process,
    Program,
    Run,
    Samples,
    overhead_pct,
)
from incprof.model.series import WATTS, NodeSeries

__all__ = [
    "BROKEN",
    "ELIDED",
    "LIBRARY",
    "OUTSIDE_LOOPS",
    "OWN",
    "PROFILER",
    "ROOT",
    "STANDARD",
    "UNKNOWN",
    "UNKNOWN_CODE",
    "WATTS",
    "Arcs",
    "BoolArray",
    "Code",
    "CodeLoops",
    "Counters",
    "FloatArray",
    "Function",
    "Inlined",
    "IntArray",
    "IntervalProfile",
    "Metadata",
    "Module",
    "NodeSeries",
    "PathTree",
    "Process",
    "Program",
    "Run",
    "Samples",
    "distinct",
    "module_label",
    "numbered",
    "overhead_pct",
    "pooled",
]
