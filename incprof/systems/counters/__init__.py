"""Counters of hardware and kernel during a run: what bounds each phase, and what fewer threads would save."""
