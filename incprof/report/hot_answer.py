"""Functions called so often that counting their calls is expensive, in a terminal and as JSON (docs/use/check.md)."""

from __future__ import annotations

from operator import attrgetter
from typing import TextIO

from incprof.analysis.answer.describe import HotAnswer, HotFunction
from incprof.model.section import Column, Table, unseen
from incprof.report.render.json import fields, json_rows, rounded
from incprof.report.render.text import console_for, text_table
from incprof.report.words.display_names import Names, counting_words
from incprof.report.words.formatting import folded, rate


def hot_table(answer: HotAnswer) -> Table:
    """Return the functions with their calls, costs and places."""
    names = Names(row.function for row in answer.hot.functions)

    def place(row: HotFunction) -> str:
        return f"{row.function.file.rpartition('/')[2]}:{row.function.line}" if row.function.file else "-"

    columns = (
        Column("function", lambda row: row.function.name, key="name", fit=lambda row, room: names(row.function, room)),
        *unseen("module file line", attrgetter("function")),
        Column("calls", lambda row: row.calls, "count", key="calls"),
        Column("counting", lambda row: row.seconds, "s"),
        Column("% of CPU", lambda row: row.pct, "number"),
        Column(None, lambda row: rounded(row.seconds), key="seconds"),
        Column(None, lambda row: rounded(row.pct), key="pct"),
        Column("place", place),
    )
    return Table(columns, answer.hot.functions, key="functions")


def write_text(answer: HotAnswer, out: TextIO, *, width: int) -> None:
    """Write the answer, at most `width` columns wide."""
    width = max(width, 60)
    console = console_for(out, width=width, colour=False, terminal=False)
    for line in folded(f"{answer.app}, rank {answer.rank}: {counting_words(answer.hot.counting)}", width, "", ""):
        console.print(line, soft_wrap=True)
    if not answer.hot.functions:
        console.print("nothing is worth leaving out of -pg", soft_wrap=True)
        return
    console.print(f"without the functions below it takes {rate(answer.hot.left_pct)} %\n", soft_wrap=True)
    console.print(text_table(hot_table(answer), width))
    console.print()
    for file in answer.files:
        what = f"{file.path}: {file.calls} calls of these functions, {file.other_calls} of others"
        for line in folded(what, width, "", "  "):
            console.print(line, soft_wrap=True)


SCHEMA = "incprof.hot/1"


def as_json(answer: HotAnswer) -> dict[str, object]:
    """Return the answer as a JSON object."""
    return {
        "schema": SCHEMA,
        **fields(answer, "app rank"),
        "calls": answer.hot.counting.calls,
        "call_ns": rounded(answer.hot.counting.call_s * 1e9),
        "pct": rounded(answer.hot.counting.pct),
        **fields(answer.hot, "program_s left_pct"),
        "functions": json_rows(hot_table(answer)),
        "files": [{"file": file.path, **fields(file, "calls other_calls")} for file in answer.files],
    }
