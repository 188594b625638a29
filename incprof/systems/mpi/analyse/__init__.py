"""Phases of a program's communication with their weights, and the run time predicted from them."""
