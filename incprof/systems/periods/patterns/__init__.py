"""Phase-TA: the periodicities of a series of samples, with a pattern for each (periods-and-models.md)."""
