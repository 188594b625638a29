"""Building blocks of verbs: arguments, output files, and the terminal."""
