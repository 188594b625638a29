"""Pages in a real browser: Chromium, headless, without a network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


@dataclass
class Seen:
    """What a page did: messages on its console, dialogs, and requests other than for the file itself."""

    page: Any
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def texts(self, selector: str) -> list[str]:
        """The text of all elements that a selector finds."""
        found: list[str] = self.page.locator(selector).all_inner_texts()
        return found

    def open_table(self, name: str) -> list[list[str]]:
        """The rows of the table beside a plot."""
        details = self.page.locator(f"#{name}-numbers")
        if details.get_attribute("open") is None:
            details.locator("summary").click()
        self.settle()
        rows = details.locator("tbody tr")
        return [row.locator("th, td").all_inner_texts() for row in rows.all()]

    def settle(self) -> None:
        """Wait until the request is drawn."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def colours(self) -> dict[str, int]:
        """How many colours each plot has."""
        found: dict[str, int] = self.page.evaluate(
            """() => Object.fromEntries([...document.querySelectorAll(".plot")].map(plot => {
                const canvas = plot.querySelector("canvas");
                if (!canvas || !canvas.width) return [plot.id, 0];
                const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
                const words = new Uint32Array(data.buffer);
                return [plot.id, new Set(words).size];
            }))"""
        )
        return found


class Browser:
    """Opens pages."""

    def __init__(self, chromium: Any):
        self.chromium = chromium

    @contextmanager
    def open(self, path: Path, *, width: int = 1280, height: int = 900, **options: Any) -> Iterator[Seen]:
        """Open a file from disk and wait until its plots are drawn."""
        context = self.chromium.new_context(viewport={"width": width, "height": height}, offline=True, **options)
        page = context.new_page()
        page.set_default_timeout(180_000)
        seen = Seen(page)
        page.on("console", lambda message: seen.messages.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: seen.messages.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (seen.messages.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: seen.requests.append(request.url))
        try:
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready=yes]", state="attached", timeout=180_000)
            seen.settle()
            yield seen
        finally:
            context.close()


@contextmanager
def started() -> Iterator[Browser]:
    """Start Chromium; skip where it is not installed."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=600_000)
        try:
            yield Browser(chromium)
        finally:
            chromium.close()
