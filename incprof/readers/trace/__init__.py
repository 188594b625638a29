"""Traces of MPI calls: blocks, lanes of events, metadata (docs/formats.md)."""

from incprof.readers.trace.read import Trace, find_traces, open_trace

__all__ = ["Trace", "find_traces", "open_trace"]
