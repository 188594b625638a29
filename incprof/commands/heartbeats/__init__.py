"""The verb `heartbeats`: verb.py is its command line."""
