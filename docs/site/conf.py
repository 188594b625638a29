"""How `make docs` makes the site: the pages of docs/ as they are, the manual pages, and the docstrings."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from manual import Manual, options  # noqa: E402

from incprof import __version__  # noqa: E402

project, release = "incprof", __version__
html_title = f"incprof {__version__}"
root_doc = "index"
source_suffix = {".md": "markdown", ".myst": "markdown", ".rst": "restructuredtext", ".1": "manual"}
# The index has its words.
exclude_patterns = ["README.md"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
highlight_language = "none"
# -- is two dashes.
smartquotes = False
default_role = "code"
autodoc_member_order = "bysource"
maximum_signature_line_length = 80
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_copy_source = False
html_show_copyright = False
# A page that was opened from disk must not read other pages, whose words these would be.
html_show_search_summary = False

# Pages beside docs/, and those of the site that include them.
BESIDE = {
    "CHANGELOG.md": "changelog.myst",
    "selfanalyze/README.md": "reference/selfanalyze-files.myst",
    "soak/README.md": "reference/soak.myst",
    "trace/README.md": "reference/mpi-traces.myst",
}


def contents(readme: str) -> str:
    """The tables of contents: first steps, the parts of docs/README.md with the pages that they name, references."""
    parts = [("", ["First steps <start>"])]
    seen: set[str] = set()
    headings = re.split(r"^\*\*(.+)\*\*$", readme, flags=re.MULTILINE)[1:]
    for heading, text in zip(headings[::2], headings[1::2], strict=True):
        pages = [page for page in dict.fromkeys(re.findall(r"\]\(([\w/-]+)\.md\)", text)) if page not in seen]
        seen.update(pages)
        parts.append((heading, pages))
    parts.append(("References", ["man/index", "reference/incprof", "reference/appekg", "reference/c", "changelog"]))
    return "".join(
        "\n".join(["", "```{toctree}", ":hidden:", *[f":caption: {heading}"] * bool(heading), "", *pages, "```", ""])
        for heading, pages in parts
    )


def add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Make the index of docs/README.md. A page that is not named there is an error of Sphinx's.

    A page beside docs/ that the site has is under its own name there. The page of a verb ends with all of its options,
    taken from its manual page, which `make man` writes from the definitions of the command line.
    """
    for beside, here in BESIDE.items():
        source[0] = source[0].replace(f"](../../{beside}", f"](../{here}")
    verb = page.removeprefix("use/")
    manual = Path(app.srcdir) / f"man/incprof-{verb}.1"
    if verb != page and manual.is_file():
        listed = options(manual.read_text())
        source[0] += f"\n## All options\n{listed}\n\nManual page: [incprof {verb}](../man/{manual.name})\n"
    if page == root_doc:
        readme = (Path(app.srcdir) / "README.md").read_text()
        words = re.sub(r"^\*\*(.+)\*\*$", r"## \1\n", readme.partition("\n")[2], flags=re.MULTILINE)
        source[0] += words + contents(readme)


def setup(app: Sphinx) -> None:
    """Add what Sphinx has not got."""
    app.add_source_parser(Manual)
    app.connect("source-read", add_contents)
