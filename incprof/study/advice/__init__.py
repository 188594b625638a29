"""Advice on thread counts and frequencies: a program is run under each, and the runs are compared."""
