"""Fortran of free and fixed form: procedures, loops, and heartbeats in them."""
