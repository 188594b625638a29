"""Functions and loops of a Python file."""

from __future__ import annotations

import ast

from incprof.errors import NoDataError
from incprof.source.model import Loop, SourceFile, SourceFunction
from incprof.source.python.blocks import Text
from incprof.source.python.refusals import binds_name, is_busy, of_body, of_everything, of_loop
from incprof.source.python.sites import DEFINED, MODULE, Site, first_line, sites_of


def parse_python(path: str, data: bytes) -> SourceFile:
    """Find the functions of a file, their loops, and places where no heartbeat can go.

    Args:
        path: For messages.
        data: The file without heartbeats of ours.

    Raises: NoDataError if the running Python cannot parse it.
    """
    try:
        sites, text = sites_of(data), Text(data)
    except NoDataError as error:
        raise NoDataError(f"{path}: {error}") from None
    taken = binds_name(text.tree)
    return SourceFile(path, "python", data, tuple(_function(site, text, taken) for site in sites))


def _function(site: Site, text: Text, taken: bool) -> SourceFunction:
    everywhere = of_everything(site, taken=taken)
    loops = tuple(
        Loop(
            None, None, loop.lineno, loop.body[-1].end_lineno or loop.lineno, parent, is_busy(loop),
            everywhere or of_loop(loop, text),
        )
        for loop, parent in site.loops
    )  # fmt: skip
    refusal = everywhere or of_body(site, text)
    if site.name == MODULE:
        return SourceFunction(site.name, None, 1, max(len(text.lines), 1), loops, refusal=refusal)
    node = site.node
    assert not isinstance(node, ast.Module)
    first = first_line(node) if isinstance(node, DEFINED) else node.lineno
    return SourceFunction(site.name, None, first, node.end_lineno or first, loops, refusal=refusal)
