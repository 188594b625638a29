"""Composition of intervals, for sites, ranks and reports: shares by call path, and their scatter."""
