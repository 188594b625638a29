"""Columns of samples taken on nodes: names, power and rates (docs/reference/nodes.md)."""
