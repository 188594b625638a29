"""Series of numbers at equal distances in time (docs/periods.md)."""
