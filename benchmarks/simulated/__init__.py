"""A run of many ranks whose phases, stragglers and clocks are known, in the format of recordings."""
