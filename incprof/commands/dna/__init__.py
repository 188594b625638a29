"""The verb `dna`: verb.py is its command line."""
