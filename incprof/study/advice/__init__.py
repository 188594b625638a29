"""Advice on thread counts and frequencies: runs of a program under each, and what follows from them."""
