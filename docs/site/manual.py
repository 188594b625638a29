"""Manual pages as pages of the site: reads what generate.py writes, and refuses any other macro or escape."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx import addnodes
from sphinx.parsers import Parser

FONTS = {"B": nodes.strong, "I": nodes.emphasis}
ESCAPES = {r"\-": "-", r"\,": "", r"\/": ""}
# The sections of a page without options.
NOT_OPTIONS = {"NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"}
# Of another manual page: .BR incprof\-phases (1)
OTHER = re.compile(r"\.BR (\S+) \(1\)")


def plain(text: str) -> str:
    """The characters that a piece of roff stands for."""
    return re.sub(r"\\.", lambda escape: ESCAPES[escape[0]], text)


def words(text: str) -> Iterator[nodes.Node]:
    """The words of a line: bold and italic ones in their fonts, and what stands between backticks as code."""
    first, *parts = re.split(r"\\f([BIR])", text)
    for font, part in zip(["R", *parts[::2]], [first, *parts[1::2]], strict=True):
        if font in FONTS:
            yield FONTS[font]("", plain(part))
        else:
            for i, piece in enumerate(plain(part).split("`")):
                yield nodes.literal("", piece) if i % 2 else nodes.Text(piece)


def options(page: str) -> str:
    """Return the options of a manual page as Markdown: a list for each of its groups."""
    lines = []
    for section in re.split(r"^\.SH ", page, flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        if title not in NOT_OPTIONS:
            if title != "OPTIONS":
                lines += ["", f"### {markdown(title.capitalize())}"]
            lines.append("")
            for item in text.split(".TP\n")[1:]:
                head, *rest = item.splitlines()
                shown = plain(re.sub(r"\\f[BIR]", "", head))
                lines.append(f"- `{shown}`" + (": " + markdown(" ".join(rest)) if rest else ""))
    return "\n".join(lines)


def markdown(text: str) -> str:
    """Return a line of roff as Markdown; what stands between backticks stays."""
    pieces = plain(re.sub(r"\\f[BIR]", "", text)).split("`")
    return "`".join(re.sub(r"([\\*_<\[])", r"\\\1", piece) if i % 2 == 0 else piece for i, piece in enumerate(pieces))


class Manual(Parser):
    """Reads a page; its sections become sections, .TP lists, .nf code, and .BR a link to another page."""

    supported = ("manual",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Fill `document`."""
        self.setup_parse(inputstring, document)
        self.into: nodes.Element = document
        lines = iter(inputstring.splitlines())
        for line in lines:
            self.line(line, lines)
        self.finish_parse()

    def line(self, line: str, lines: Iterator[str]) -> None:
        """Take a line, and of `lines` those that belong to it."""
        macro, _, rest = line.partition(" ")
        if not line.startswith("."):
            self.text(*words(line))
        elif macro == ".TH":
            self.page = self.section(self.document, f"{plain(rest.split()[0]).lower()}(1)")
        elif macro == ".SH":
            self.part = self.into = self.section(self.page, plain(rest).capitalize())
        elif macro == ".PP":
            self.into = self.part
            self.part += nodes.paragraph()
        elif macro == ".TP":
            self.item(next(lines))
        elif macro == ".nf":
            code = "\n".join(plain(line[4:]) for line in iter(lambda: next(lines), ".fi"))
            self.part += nodes.literal_block(code, code, language="sh")
        elif macro == ".B":
            self.text(nodes.strong("", plain(rest)))
        else:
            self.text(self.link(line))

    def section(self, parent: nodes.Element, title: str) -> nodes.section:
        """Begin a section of `parent`."""
        made = nodes.section("", nodes.title("", title), names=[nodes.fully_normalize_name(title)])
        parent += made
        self.document.note_implicit_target(made, made)
        return made

    def text(self, *parts: nodes.Node) -> None:
        """Go on with the paragraph, or begin one."""
        if not self.into.children or not isinstance(self.into[-1], nodes.paragraph):
            self.into += nodes.paragraph()
        elif self.into[-1].children:
            self.into[-1] += nodes.Text(" ")
        self.into[-1] += parts

    def item(self, head: str) -> None:
        """Begin an item of a list; the text that comes is its own."""
        if not isinstance(self.part[-1], nodes.definition_list):
            self.part += nodes.definition_list()
        term, self.into = nodes.term(), nodes.definition()
        term += [self.link(head)] if head.startswith(".") else words(head)
        self.part[-1] += nodes.definition_list_item("", term, self.into)

    def link(self, line: str) -> nodes.Element:
        """The link that a line stands for.

        Raises:
            ValueError: it is another macro.
        """
        found = OTHER.fullmatch(line)
        if found is None:
            raise ValueError(f"{line}: docs/site/manual.py knows no such macro")
        name = plain(found[1])
        return addnodes.pending_xref(
            "", nodes.strong("", f"{name}(1)"), refdoc=self.document.settings.env.docname, refwarn=True,
            refdomain="std", reftype="doc", reftarget=f"/man/{name}", refexplicit=True,
        )  # fmt: skip
