"""Resolve addresses from binaries: functions, lines, loops, inlined functions."""
