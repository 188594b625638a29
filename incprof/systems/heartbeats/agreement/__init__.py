"""Measure how well heartbeats agree with the recorded phases. docs/use/validate.md explains the method."""
