"""Heartbeat files, read and aligned to a recording."""
