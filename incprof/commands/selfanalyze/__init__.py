"""The verb `selfanalyze`: verb.py is its command line."""
