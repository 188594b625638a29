"""The verb `top`: verb.py is its command line."""
