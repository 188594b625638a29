"""The page on a run as a browser shows it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from incprof.cli.main import main
from incprof.model import IntervalProfile, Process, Run
from incprof.report.page.html import page
from incprof.study import Study
from incprof.study.run_page import page_parts
from tests.integration.browser import started
from tests.unit.ekgfiles import EkgFile, beats
from tests.unit.manyranks import write_rank
from tests.unit.profiles import rows, two_phase_run
from tests.unit.streamwriter import Sample, StreamWriter
from tests.unit.synthetic import make_profile

# A browser takes 8 s of CPU time to start and end.
pytestmark = pytest.mark.slow
HOSTILE = ["<script>alert(1)</script>", "</script>", "<img src=x onerror=alert(1)>", "<!--<script>", "a&amp b\u2028c"]


@pytest.fixture(scope="module")
def browser():
    with started() as found:
        yield found


def report(run: Path, *args: object) -> Path:
    target = run.parent / f"{run.name}.html"
    assert main(["report", str(run), "-o", str(target), "--force", *map(str, args)]) in (0, 5)
    return target


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """main calls solve for 10 s, then write_out for 10 s."""
    return report(two_phase_run(tmp_path_factory.mktemp("plain") / "run"))


def test_it_opens_from_disk_without_a_network(browser, plain):
    with browser.open(plain) as seen:
        assert seen.messages == []
        assert seen.requests == [plain.as_uri()]
        assert all(number > 2 for number in seen.colours().values()), seen.colours()
        assert set(seen.colours()) == {"ribbon", "series", "flame", "scores"}
        assert "2 phases over 20 s: solve 50\u00a0%, write_out 50\u00a0%." in seen.texts(".lead")


def test_counters_are_lanes_below_the_phases(browser, tmp_path):
    run = two_phase_run(tmp_path / "run")
    (tmp_path / "c.csv").write_text("time_s,instructions,cycles\n" + "".join(f"{i},{i},2\n" for i in range(1, 21)))
    with browser.open(report(run, "--counters", tmp_path / "c.csv")) as seen:
        assert seen.messages == []
        assert seen.colours()["counters"] > 2
        table = seen.open_table("counters")
        assert (len(table), table[0], table[-1][-1]) == (20, ["0", "1", "0.5"], "10")
        assert seen.texts(".about dd")[1] == "Bound by the number of instructions: 7.75 per cycle."


def test_every_plot_has_a_table(browser, plain):
    with browser.open(plain) as seen:
        assert seen.open_table("ribbon") == [["0 solve", "0", "10", "10"], ["1 write_out", "10", "20", "10"]]
        rows = seen.open_table("series")
        assert len(rows) == 20
        assert rows[0][0] == "0"
        # 889 of the 2 019 ticks, and 100 below it in libm.
        solve = next(row for row in seen.open_table("flame") if row[0] == "main > solve".replace(">", "\u203a"))
        assert solve == ["main \u203a solve", "8.89 s", "9.89 s", "49.0 %"]


def functions_in_flame(seen) -> set[str]:
    return {row[0].split(" \u203a ")[-1] for row in seen.open_table("flame")}


def test_brushing_with_the_mouse_filters_what_is_below(browser, plain):
    with browser.open(plain) as seen:
        assert {"solve", "write_out"} <= functions_in_flame(seen)
        seen.page.locator("#ribbon").scroll_into_view_if_needed()
        box = seen.page.locator("#ribbon").bounding_box()
        y = box["y"] + 20
        seen.page.mouse.move(box["x"] + box["width"] * 0.95, y)
        seen.page.mouse.down()
        seen.page.mouse.move(box["x"] + box["width"] * 0.7, y, steps=4)
        seen.page.mouse.up()
        seen.settle()
        assert "solve" not in functions_in_flame(seen)
        assert "write_out" in functions_in_flame(seen)
        assert "write_out" in " ".join(seen.texts("#tree tbody tr"))
        assert "solve" not in " ".join(seen.texts("#tree tbody tr"))
        assert "solve" not in " ".join(seen.texts("#hottest tbody tr"))
        seen.page.click("#clear")
        seen.settle()
        assert {"solve", "write_out"} <= functions_in_flame(seen)


def test_brushing_with_a_finger(browser, plain):
    with browser.open(plain, has_touch=True) as seen:
        seen.page.locator("#ribbon").scroll_into_view_if_needed()
        box = seen.page.locator("#ribbon").bounding_box()
        client = seen.page.context.new_cdp_session(seen.page)
        for kind, part in (("touchStart", 0.3), ("touchMove", 0.25), ("touchMove", 0.2), ("touchEnd", None)):
            points = [] if part is None else [{"x": box["x"] + box["width"] * part, "y": box["y"] + 20}]
            client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        seen.settle()
        assert "solve" in functions_in_flame(seen)
        assert "write_out" not in functions_in_flame(seen)


def test_brushing_and_choosing_with_the_keyboard(browser, plain):
    with browser.open(plain) as seen:
        seen.page.locator(".handle").first.focus()
        seen.page.keyboard.press("Shift+ArrowRight")
        seen.settle()
        assert seen.page.locator("#range-from").input_value() == "10"
        assert "solve" not in functions_in_flame(seen)
        seen.page.locator(".handle").first.focus()
        seen.page.keyboard.press("Escape")
        seen.settle()
        assert "solve" in functions_in_flame(seen)
        seen.page.locator("#phase-choice button").nth(1).focus()
        seen.page.keyboard.press("Enter")
        seen.settle()
        assert "write_out" not in functions_in_flame(seen)
        seen.page.fill("#range-from", "15")
        seen.page.keyboard.press("Tab")
        seen.settle()
        assert seen.texts("#selected") == ["0 s of CPU time in phase 0 solve, 15 to 20 s"]


def test_what_is_chosen_stands_in_the_address(browser, plain):
    with browser.open(plain) as seen:
        seen.page.locator(".handle").first.focus()
        seen.page.keyboard.press("Shift+ArrowRight")
        seen.page.locator("#phase-choice button").nth(2).click()
        seen.settle()
        address = seen.page.url
        assert address == f"{plain.as_uri()}#from=10&to=20&phase=1"
        seen.page.goto("about:blank")
        seen.page.goto(address)
        seen.page.wait_for_selector("html[data-ready=yes]", state="attached")
        seen.settle()
        assert seen.page.locator("#range-from").input_value() == "10"
        assert seen.texts("#selected")[0].endswith("in phase 1 write_out, 10 to 20 s")
        seen.page.evaluate("location.hash = 'from=0&to=1e9&phase=77'")
        seen.settle()
        assert not seen.texts("#selected")[0].endswith(" s")
        seen.page.click("#clear")
        seen.settle()
        assert seen.page.url in (plain.as_uri(), f"{plain.as_uri()}#")
        assert seen.messages == []


def test_flame_graph_and_tree_by_keyboard(browser, plain):
    with browser.open(plain) as seen:
        seen.page.locator("#flame canvas").focus()
        for _ in range(2):
            seen.page.keyboard.press("ArrowDown")
        seen.settle()
        assert seen.texts("#flame-at")[0].startswith("solve \u00b7 ") or seen.texts("#flame-at")[0].startswith(
            "write_out \u00b7 "
        )
        seen.page.keyboard.press("Enter")
        seen.settle()
        assert seen.page.locator("#flame-back").is_visible()
        seen.page.keyboard.press("Escape")
        seen.settle()
        assert not seen.page.locator("#flame-back").is_visible()
        row = seen.page.locator("#tree tbody tr").first
        row.focus()
        seen.page.keyboard.press("ArrowLeft")
        assert seen.page.locator("#tree tbody tr").count() == 1
        seen.page.keyboard.press("ArrowRight")
        assert seen.page.locator("#tree tbody tr").count() > 1
        assert seen.page.locator("#tree tr[tabindex='0']").count() == 1


def test_what_can_be_reached_by_tab_shows_where_it_is(browser, plain):
    with browser.open(plain) as seen:
        reached = set()
        for _ in range(40):
            seen.page.keyboard.press("Tab")
            reached.add(seen.page.evaluate("document.activeElement.id || document.activeElement.className"))
        assert {"theme", "clear", "range-from", "handle", "flame-find"} <= reached


def test_names_that_are_markup_are_text(browser, tmp_path):
    writer = StreamWriter(["main", *HOSTILE], app="</title><script>alert(2)</script>", host="<b>", argv=["a", "<i>x"])
    for i in range(20):
        name = HOSTILE[i * len(HOSTILE) // 20]
        writer.interval([Sample(f"main;{name}", weight=95), Sample("main", weight=5)], arcs={("main", name): 1})
    writer.end()
    page = report(writer.save(tmp_path / "run"))
    with browser.open(page) as seen:
        assert seen.messages == []
        assert seen.requests == [page.as_uri()]
        assert seen.page.evaluate("document.scripts.length") == 2
        assert seen.page.evaluate("document.images.length") == 0
        assert seen.page.locator("b, i:not(.amount i)").count() == 0
        shown = " ".join(seen.texts("#hottest tbody tr"))
        assert "<script>alert(1)</script>" in shown
        assert "</script>" in shown.replace("<script>alert(1)</script>", "")
        assert "<img src=x onerror=alert(1)>" in shown
        assert all(number > 2 for number in seen.colours().values())


@pytest.mark.parametrize("width", [360, 768, 1920])
def test_it_fits_phones_and_large_screens(browser, tmp_path, width):
    long = "a_namespace_of_some_length::a_class_with_a_name::" + "a_function_of_a_very_long_name" * 3
    writer = StreamWriter(["main", "solve", long], argv=["/a/very/long/path/" + "x" * 200])
    for i in range(30):
        writer.interval([Sample(f"main;{'solve' if i < 15 else long}", weight=100)])
    writer.end()
    page = report(writer.save(tmp_path / "run"))
    for scheme in ("light", "dark"):
        with browser.open(page, width=width, color_scheme=scheme) as seen:
            assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
            assert seen.messages == []
            outside = seen.page.evaluate(
                """() => [...document.querySelectorAll("section, header, nav, .plot, .plot canvas, h1, h2, h3, p")]
                    .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 90))"""
            )
            assert outside == []
            # Names keep room beside their figures.
            names = seen.page.locator(".phases .pair span:first-child")
            assert min(names.nth(i).bounding_box()["width"] for i in range(names.count())) > 25
            shares = seen.page.locator("#hottest td.share").evaluate_all(
                "all => all.map(e => e.getBoundingClientRect().right)"
            )
            assert max(shares) <= width
            seen.page.evaluate("() => document.querySelectorAll('details').forEach(e => { e.open = true; })")
            seen.settle()
            assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_light_and_paper(browser, plain):
    with browser.open(plain, color_scheme="dark") as seen:
        assert seen.page.evaluate("document.documentElement.dataset.theme") == "dark"
        dark = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        seen.page.click("#theme")
        assert seen.page.evaluate("document.documentElement.dataset.theme") == "light"
        assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
        assert seen.page.pdf().startswith(b"%PDF")
        seen.page.set_viewport_size({"width": 720, "height": 1000})
        seen.page.emulate_media(media="print")
        seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        seen.settle()
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 720
        assert seen.page.evaluate("document.documentElement.dataset.theme") == "light"
        assert not seen.page.locator("#selection").is_visible()
        assert seen.messages == []


def test_heartbeats_lie_on_the_same_axis(browser, tmp_path):
    run = two_phase_run(tmp_path / "run")
    file = EkgFile().beat(1, "solve:loop").beat(2, "other")
    for i in range(20):
        file.interval(beats(0, 1 if i < 10 else 2, [10**6] * (5 + i)))
    file.end()
    (tmp_path / "ekg").mkdir()
    (tmp_path / "ekg" / "rank-00000.ekg").write_bytes(file.data)
    page = report(run, "--heartbeats", tmp_path / "ekg")
    with browser.open(page) as seen:
        assert seen.messages == []
        assert seen.colours()["beats"] > 2
        assert [row[:2] for row in seen.open_table("beats")] == [["solve:loop", "95"], ["other", "195"]]
        width = seen.page.evaluate("document.querySelector('#beats canvas').clientWidth")
        assert width == seen.page.evaluate("document.querySelector('#ribbon canvas').clientWidth")


def test_512_ranks(browser, tmp_path):
    page = report(two_phase_run(tmp_path / "run", intervals=6, ranks=range(512)))
    assert page.stat().st_size < 5_000_000
    with browser.open(page) as seen:
        assert seen.messages == []
        assert seen.colours()["ranks"] > 2
        rows = seen.open_table("ranks")
        assert len(rows) == 512
        assert (rows[511][0], rows[511][2]) == ("511", "100.0 %")
        seen.page.select_option("#ranks-colour", "busy")
        seen.settle()
        assert seen.texts("#ranks-key")[0].split() == ["0", "1.02", "s/s"]
        # One group: by keyboard to its first two ranks.
        canvas = seen.page.locator("#ranks canvas")
        canvas.focus()
        seen.page.keyboard.press("ArrowRight")
        assert seen.texts("#ranks-at")[0].startswith("512 ranks like ")
        for key in ("Enter", "ArrowDown", "ArrowDown"):
            seen.page.keyboard.press(key)
        assert seen.texts("#ranks-at")[0].startswith("rank 1 \u00b7 ")


def test_groups_of_ranks_open_and_ranks_are_found(browser, tmp_path):
    for rank in range(70):
        write_rank(tmp_path / "run", rank, (("master", 12),) if rank % 10 == 9 else (("assemble", 6), ("solve", 6)))
    for width in (1280, 390):
        with browser.open(report(tmp_path / "run"), width=width) as seen:
            assert seen.messages == []
            canvas = seen.page.locator("#ranks canvas")
            closed = canvas.bounding_box()["height"]
            assert closed == 2 * 22 + 24
            canvas.click(position={"x": width / 2, "y": 11})
            seen.settle()
            assert canvas.bounding_box()["height"] > closed + 63 * 2
            canvas.click(position={"x": width / 2, "y": 11})
            seen.settle()
            assert canvas.bounding_box()["height"] == closed
            seen.page.fill("#ranks-find", "39")
            seen.page.keyboard.press("Enter")
            assert seen.texts("#ranks-at")[0].startswith("rank 39 \u00b7 ")
            assert "master" in seen.texts("#ranks-at")[0]
            seen.page.fill("#ranks-find", "70")
            seen.page.keyboard.press("Enter")
            assert seen.texts("#ranks-at") == ["There is no rank 70."]
            seen.page.select_option("#ranks-rows", "ranks")
            seen.settle()
            assert canvas.bounding_box()["height"] == 70 * 8 + 24
            wide = seen.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width


def test_one_interval(browser, tmp_path):
    writer = StreamWriter()
    writer.interval([Sample("main;solve", weight=90)])
    writer.end()
    with browser.open(report(writer.save(tmp_path / "run"))) as seen:
        assert seen.messages == []
        assert all(number > 2 for number in seen.colours().values())
        assert seen.open_table("ribbon") == [["0 solve", "0", "1", "1"]]


def test_no_symbols(browser, tmp_path):
    run = two_phase_run(tmp_path / "run")
    shutil.rmtree(run / "symbols")
    with browser.open(report(run)) as seen:
        assert seen.messages == []
        assert all(number > 2 for number in seen.colours().values())
        assert seen.open_table("ribbon") == [["0 [unknown in app]", "0", "20", "20"]]


def written(tmp_path: Path, profile: IntervalProfile) -> Path:
    """The page on a profile that was never on disk."""
    path = tmp_path / "page.html"
    path.write_text(page(page_parts(Study(Run(str(tmp_path), "app", (Process(0, None, "none"),)), profile=profile))))
    return path


def test_no_paths_and_no_calls(browser, tmp_path):
    path = written(tmp_path, rows(*["solve=90 main=10"] * 20, *["write_out=80 main=20"] * 10))
    with browser.open(path) as seen:
        assert seen.messages == []
        assert all(number > 2 for number in seen.colours().values())
        assert functions_in_flame(seen) == {"main", "solve", "write_out"}
        seen.page.locator("#phase-choice button").nth(2).click()
        seen.settle()
        assert functions_in_flame(seen) == {"main", "write_out"}


def test_100_000_intervals(browser, tmp_path):
    own = np.zeros((100_000, 6))
    own[np.arange(100_000), np.arange(100_000) // 1000 % 5] = 0.9
    own[:, 5] = np.random.default_rng(0).poisson(10, 100_000) / 100
    path = written(tmp_path, make_profile(own))
    assert path.stat().st_size < 5_000_000
    with browser.open(path) as seen:
        assert seen.messages == []
        assert all(number > 2 for number in seen.colours().values())
        assert len(seen.open_table("ribbon")) == 100


def test_the_data_is_json(plain):
    text = plain.read_text()
    data = text.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    assert json.loads(data)["run"]["app"] == "app"
