"""Counters and power of nodes, from files of several kinds (docs/nodes.md)."""

from incprof.readers.nodes.read import read_nodes

__all__ = ["read_nodes"]
