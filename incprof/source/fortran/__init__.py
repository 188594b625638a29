"""Fortran in free and fixed form: procedures, loops, and heartbeats in them."""
