"""Tables, sections and lanes in all forms of an answer."""

import csv
import io
import json
from html.parser import HTMLParser

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from incprof.model.section import Column, Lane, Section, Table, edges_of
from incprof.report.exports import FORMULA, write_csv
from incprof.report.page.html import html_section, html_table
from incprof.report.render.json import exact, fields, json_rows, json_section, nano
from incprof.report.render.text import NAME, console_for, text_table, write_sections
from incprof.report.text.diff_text import markdown_table
from incprof.report.words.formatting import fitted, percent

UNITS = ("", "number", "count", "s", "elapsed", "duration", "%", "percent", "B", "kB", "kB/s", "J", "W")
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
NUMBERS = st.one_of(st.integers(0, 10**15), st.floats(0, 1e12), st.none())
HOSTILE = "<script>alert('&')</script> | *b* `c` [d](e) \x1b[31m"


def tables():
    """Return tables with one row for each column's value."""

    def table(units, rows, drops):
        columns = [
            Column(f"h{i}", lambda row, i=i: row[i], unit, drop=drops[i], key=f"k{i}") for i, unit in enumerate(units)
        ]
        return Table(tuple(columns), [[None if v is None else v for v in row] for row in rows])

    def of_units(units):
        row = st.tuples(*(TEXTS if unit == "" else NUMBERS for unit in units))
        return st.builds(
            table, st.just(units), st.lists(row, max_size=5),
            st.lists(st.integers(0, 3), min_size=len(units), max_size=len(units)),
        )  # fmt: skip

    return st.lists(st.sampled_from(UNITS), min_size=1, max_size=6).flatmap(of_units)


def text_of(table, width):
    out = io.StringIO()
    console_for(out, width=width, colour=False, terminal=False).print(text_table(table, width))
    return out.getvalue()


def seen(value):
    """Return a value as JSON has it: twelve digits."""
    return float(f"{value:.12g}") if isinstance(value, float) else value


@given(tables())
def test_every_cell_comes_back_from_json(table):
    rows = json.loads(json.dumps(json_rows(table), allow_nan=False))
    assert [list(row.values()) for row in rows] == [[seen(value) for value in row] for row in table.rows]


@given(tables())
def test_every_cell_comes_back_from_csv(table):
    out = io.StringIO(newline="")
    write_csv(table, out)
    head, *rows = csv.reader(io.StringIO(out.getvalue(), newline=""))
    assert head == [column.key for column in table.columns]
    assert len(rows) == len(table.rows)
    for row, told in zip(table.rows, rows, strict=True):
        for value, cell in zip(row, told, strict=True):
            assert not cell.startswith(FORMULA)
            if isinstance(value, str):
                assert cell.removeprefix("'" if value.startswith(FORMULA) else "") == value
            else:
                assert (None if cell == "" else float(cell)) == seen(value)


@given(tables(), st.integers(40, 200))
def test_text_is_no_wider_than_the_terminal_where_columns_may_go(table, width):
    kept = Table(tuple(column for column in table.columns if not column.drop), table.rows)
    least = 0 if not kept.columns else max(cell_len(line) for line in text_of(kept, 10_000).split("\n"))
    assert all(cell_len(line) <= max(width, least) for line in text_of(table, width).split("\n"))


@given(st.lists(st.text(st.characters(categories=("L",)), min_size=1, max_size=80), min_size=1), st.integers(40, 120))
def test_a_name_has_the_room_that_numbers_leave(names, width):
    table = Table(
        (
            Column("Function", lambda row: row, fit=fitted),
            Column("Self", lambda _: 0.1234, "s"),
            Column("Phase", lambda _: "x" * 25, "number", drop=1),
        ),
        names,
    )
    text = text_of(table, width)
    assert all(cell_len(line) <= width for line in text.split("\n"))
    # Names, the gap, "123 ms", the gap: the last column stays where names are whole or have at least NAME columns.
    least = max(len("Function"), min(NAME, max(map(cell_len, names))))
    assert ("Phase" in text) == (width >= least + 2 + 6 + 2 + 25)


class Cells(HTMLParser):
    """The texts of the cells of a page's tables, and the tags on it."""

    def __init__(self, page):
        super().__init__()
        self.cells, self.tags, self.inside = [], set(), False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("th", "td"):
            self.cells.append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in ("th", "td")

    def handle_data(self, data):
        if self.inside:
            self.cells[-1] += data


@given(tables())
def test_html_has_every_cell_and_no_other_markup(table):
    page = Cells(html_table(table))
    assert page.tags <= {"div", "table", "thead", "tbody", "tr", "th", "td"}
    assert len(page.cells) == len(table.shown) * (1 + len(table.rows))


@given(tables())
def test_markdown_has_a_line_for_each_row_and_a_bar_for_each_cell(table):
    lines = markdown_table(table).removesuffix("\n").split("\n")
    assert len(lines) == 2 + len(table.rows)
    assert all(line.count("|") == len(table.shown) + 1 for line in lines)


def test_a_column_without_values_is_in_data_only():
    columns = (
        Column("Phase", lambda row: row, "phase", key="id"),
        Column("Calls", lambda _: "-", "number", key="calls"),
        Column("Energy", lambda _: None, "J", key="energy_j"),
        Column("Read", lambda row: None if row else 0, "kB", key="read_b"),
    )
    table = Table(columns, [0, 1])
    assert [column.head for column in table.shown] == ["Phase", "Read"]
    assert [column.head for column in Table(columns, []).shown] == ["Phase", "Calls", "Energy", "Read"]
    assert json_rows(table)[1] == {"id": 1, "calls": "-", "energy_j": None, "read_b": None}


def section():
    row = {"id": 1, "name": HOSTILE, "seconds": 0.00123}
    table = Table(
        (
            Column("Phase", lambda row: row["id"], "phase", key="id"),
            Column("Name", lambda row: row["name"], key="name", mark=lambda row: "slower"),
            Column("Time", lambda row: row["seconds"], "s", key="seconds"),
            Column(None, lambda row: [float("nan"), {"x": np.int64(2)}], key="more"),
            Column("Why", lambda row: f"bound by {HOSTILE}", key="why", sentence=True),
        ),
        [row],
        key="phases",
    )
    lane = Lane("cpu", "number", np.array([0.0, 1.0, 2.0]), np.array([0.5, np.nan]), "processors busy")
    return Section("demo", "What it does", (table,), (lane,), (f"note {HOSTILE}",), {"file": "x"})


def test_what_a_program_chose_is_no_markup():
    for text in (html_section(section()), markdown_table(section().tables[0])):
        assert "<script>" not in text
        assert "\x1b" not in text
    for mark in ("*b*", "`c`", "[d]"):
        assert mark not in markdown_table(section().tables[0])


def test_a_page_shows_the_sentences_about_a_row_with_their_topics():
    assert "<dt>Why</dt><dd>Bound by " in html_section(section())


def test_fields_are_rounded_lists_under_the_names_that_are_asked_for():
    lane = Lane("power", "W", np.array([0.0, 1 / 3]), np.array([np.nan]))
    table = Table((), ((1 / 7, [2 / 7]),), key="k")
    assert fields(lane, "name power_w=values end_s=edges") == {
        "name": "power", "power_w": [None], "end_s": [0.0, 0.333333],
    }  # fmt: skip
    assert fields(table, "key row=rows", nano) == {"key": "k", "row": [[0.142857143, [0.285714286]]]}
    assert fields(table, "length=rows.__class__.__name__ rows", exact) == {
        "length": "tuple", "rows": [[1 / 7, [2 / 7]]],
    }  # fmt: skip


def test_a_section_as_json():
    assert json_section(section()) == {
        "file": "x",
        "notes": [f"note {HOSTILE}"],
        "phases": [
            {"id": 1, "name": HOSTILE, "seconds": 0.00123, "more": [None, {"x": 2}], "why": f"bound by {HOSTILE}"}
        ],
        "lanes": [
            {"name": "cpu", "title": "processors busy", "unit": "number", "edges_s": [0, 1, 2], "values": [0.5, None]}
        ],
    }


def test_a_section_in_a_terminal():
    out = io.StringIO()
    write_sections([section()], out, width=200, colour=False)
    lines = [line.rstrip() for line in out.getvalue().split("\n")]
    assert (lines[:2], lines[2].split()) == (["", "demo"], ["Phase", "Name", "Time"])
    assert lines[3].startswith("    1  <script>")
    assert lines[3].endswith("1.23 ms")
    assert lines[4].startswith("phase 1: bound by <script>")
    assert lines[5].startswith("note: note <script>")


def test_lanes_have_no_value_between_intervals_that_do_not_touch():
    edges, values = edges_of(np.array([0.0, 1.0, 3.0]), np.array([1.0, 2.0, 4.0]), np.array([5.0, 6.0, 7.0]))
    assert edges.tolist() == [0, 1, 2, 3, 4]
    assert str(values.tolist()) == "[5.0, 6.0, nan, 7.0]"
    assert [len(part) for part in edges_of(np.zeros(0), np.zeros(0), np.zeros(0))] == [1, 0]


def test_columns_that_a_terminal_is_too_narrow_for_follow_below():
    columns = [
        Column(head, lambda row, at=at: row[at], "" if at == 1 else "number", drop=drop)
        for at, (head, drop) in enumerate([("Phase", 0), ("Waiting", 1), ("Read", 3), ("Written", 3), ("Bound", 2)])
    ]
    section = Section("cards", "Cards", (Table(tuple(columns), [(0, "x" * 20, 11, 22, 33), (1, "y", 44, 55, 66)]),))
    out = io.StringIO()
    write_sections([section], out, width=40, colour=False)
    lines = [line.split() for line in out.getvalue().splitlines()]
    assert ["Phase", "Waiting", "Bound"] in lines
    assert lines[lines.index(["Phase", "Read", "Written"]) + 1 :] == [["0", "11", "22"], ["1", "44", "55"]]


def test_a_column_of_names_is_dropped_rather_than_shortened_if_it_may():
    names = ["a_function_with_a_name", "another_function"]
    columns = [Column("Phase", lambda row: names[row], fit=lambda row, room: fitted(names[row], room), drop=1)]
    table = Table((*columns, Column("Why", lambda row: "w" * 15)), [0, 1])
    assert "a_function_with_a_name" in text_of(table, 39)
    assert text_of(table, 38).split() == ["Why", "w" * 15, "w" * 15]


def test_a_share_near_0_or_1_is_never_none_or_all():
    shares = (0.0, 0.00001, 0.001, 0.613, 0.996, 0.999999, 1.0)
    assert [percent(share) for share in shares] == ["0 %", "<0.1 %", "0.1 %", "61 %", "99.60 %", ">99.99 %", "100 %"]
