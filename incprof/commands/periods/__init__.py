"""The verb `periods`: verb.py is its command line."""
