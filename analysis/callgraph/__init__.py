"""The time of functions by their callers, estimated from counted calls as gprof does."""
