"""The site that `make docs` makes: every page is there, every link leads somewhere, and nothing needs a network."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from incprof.cli.parser import VERBS, verb_parser
from tests.integration import browser
from tests.paths import ROOT

DOCS = ROOT / "docs"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not find_spec("sphinx"), reason="make docs installs what the site is made with"),
]


def build(docs: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Make the site of a directory of pages, as `make docs` does."""
    words = ["-m", "sphinx", "-q", "-E", "-W", "--keep-going", "-b", "html", "-d", site.parent / "doctrees"]
    return subprocess.run([sys.executable, *words, "-c", DOCS / "site", docs, site], cwd=ROOT, capture_output=True,
                          text=True, check=False)  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("site") / "html"
    done = build(DOCS, path)
    assert done.returncode == 0, done.stderr
    return path


class Page(HTMLParser):
    """What a page can be linked at, what it links to, and what it loads."""

    def __init__(self, path: Path):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given: dict[str, Any] = dict(attrs)
        self.anchors.add(given.get("id", ""))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given["rel"] == "stylesheet":
            self.loaded.append(given["href"])
        elif "src" in given:
            self.loaded.append(given["src"])


def test_every_page_is_there(site: Path) -> None:
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.glob("*/*.md")}
    pages |= {f"man/incprof-{verb}" for verb in VERBS}
    for page in pages | {"index", "start", "man/incprof", "reference/incprof", "reference/appekg"}:
        assert "<h1>" in (site / f"{page}.html").read_text(), page
    reference = "".join((site / f"reference/{page}.html").read_text() for page in ("incprof", "appekg"))
    for name in ("incprof.open", "incprof.Recording.phases", "appekg.beat", "incprof.errors.NoDataError"):
        assert f'id="{name}"' in reference
    explain = (site / "man/incprof-phases.html").read_text()
    assert re.search("<dt><strong>--explain</strong></dt>\n?<dd><p>", explain)


def test_every_link_leads_somewhere(site: Path) -> None:
    """Also those that Sphinx does not look at: of raw HTML, and of its own making."""
    pages = {path: Page(path) for path in site.rglob("*.html")}
    lost = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            where = urlsplit(link)
            if where.scheme in ("http", "https", "mailto") and link not in page.loaded:
                continue
            to = (path.parent / unquote(where.path)).resolve() if where.path else path
            anchor = unquote(where.fragment)
            if where.scheme or not to.is_file() or (anchor and to in pages and anchor not in pages[to].anchors):
                lost.append(f"{path.relative_to(site)}: {link}")
    assert lost == []
    assert "url(http" not in "".join(style.read_text() for style in site.rglob("*.css")).replace('"', "")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[there](phases.md#how)", ""),
        ("[there](nowhere.md)", "cross-reference target not found: 'nowhere.md'"),
        ("[there](phases.md#nowhere)", "local id not found in doc 'phases': 'nowhere'"),
        ("Nothing leads here.", "page.md: WARNING: document isn't included in any toctree"),
    ],
)
def test_what_leads_nowhere_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    docs = tmp_path / "docs"
    for page in ("phases.md", "index.myst", "start.myst", "man/index.myst", "reference/incprof.myst",
                 "reference/appekg.myst", "reference/c.myst", "changelog.myst"):  # fmt: skip
        (docs / page).parent.mkdir(parents=True, exist_ok=True)
        (docs / page).write_text("# Phases\n\n## How\n")
    (docs / "page.md").write_text(f"# Page\n\n{text}\n")
    listed = " [page](page.md)" * text.startswith("[")
    (docs / "README.md").write_text(f"# Documentation\n\n**All**\n[phases](phases.md){listed}\n")
    done = build(docs, tmp_path / "html")
    assert done.returncode == (1 if complaint else 0), done.stderr
    assert complaint in done.stderr


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser.started() as started:
        yield started.chromium


@pytest.fixture
def tab(chromium: Any) -> Iterator[Any]:
    """A phone's tab without a network; what goes wrong in it ends the test."""
    context = chromium.new_context(viewport={"width": 390, "height": 844}, offline=True)
    page, wrong = context.new_page(), []
    page.set_default_timeout(180_000)
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: request.url.startswith("file:") or wrong.append(request.url))
    yield page
    context.close()
    assert wrong == []


def test_no_page_is_wider_than_a_phone(site: Path, tab: Any) -> None:
    wide = []
    for path in sorted(site.rglob("*.html")):
        tab.goto(path.as_uri())
        if tab.evaluate("document.scrollingElement.scrollWidth > innerWidth"):
            wide.append(path.name)
    assert wide == []


def test_pages_are_found_by_their_words(site: Path, tab: Any) -> None:
    tab.goto((site / "search.html").as_uri() + "?q=speedscope")
    tab.wait_for_selector("#search-results li a")
    assert {"incprof export", "incprof-export(1)"} <= set(tab.locator("#search-results li a").all_inner_texts())
    tab.locator("#search-results li a", has_text="incprof-export(1)").click()
    assert tab.locator("h1").inner_text().startswith("incprof-export(1)")


def test_the_page_of_a_verb_lists_its_options(site: Path) -> None:
    for verb in ("check", "sample", "diff"):
        actions = [action for action in verb_parser(verb)._actions if action.help != argparse.SUPPRESS]
        listed = {option for action in actions for option in action.option_strings} - {"-h", "--help"}
        text = re.sub(r"<[^>]+>", "", (site / f"use/{verb}.html").read_text().partition('id="all-options"')[2])
        assert {option for option in listed if option not in text} == set()
