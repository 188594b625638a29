"""Heartbeats: reading what libappekg wrote."""

from __future__ import annotations

from appekg.reader import read as read
