"""What more than one family of reports says: numbers, names, sentences."""
