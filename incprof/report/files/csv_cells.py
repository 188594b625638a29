"""Text in the cells of CSV files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

# A formula begins with one of these in a spreadsheet, which ignores a leading tab.
FORMULA = ("=", "+", "-", "@", "\t")


def cell(text: str) -> str:
    """Return a text as spreadsheets show it: an apostrophe precedes anything that would be read as a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def with_text_cells(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which every text is a cell; numbers and missing values stay as they are."""
    text = [name for name, kind in rows.dtypes.items() if str(kind) in ("object", "str", "category")]
    return rows.assign(**{name: rows[name].astype("object").map(cell, na_action="ignore") for name in text})
