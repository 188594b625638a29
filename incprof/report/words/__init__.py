"""User-facing text shared by several families of reports: numbers, names, sentences."""
