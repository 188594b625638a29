"""Building blocks of verbs: arguments, output files, the terminal, and becoming a program."""
