"""Series of numbers at equal distances in time (docs/use/periods.md)."""
