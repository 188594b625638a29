"""Heartbeat files as the analysis reads them: one run, two runs, a run and its past, a run and its recording."""
