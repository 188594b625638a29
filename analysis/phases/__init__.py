"""Find phases: groups of intervals with the same behaviour."""
