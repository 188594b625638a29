"""Examples with heartbeats put in by hand: what tests of validation were recorded from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Beating:
    """An example: its source, how long it runs, flags of heartbeats; text by what comes instead; names of heartbeats.

    start: before it, the names are told, by `name`.
    """

    source: str
    scale: str
    flags: str
    edits: dict[str, str]
    names: tuple[str, ...]
    start: str
    name: str = 'ekg_name({id}, "{name}");'

    @property
    def text(self) -> str:
        """The source with its heartbeats."""
        text = (EXAMPLES / self.source).read_text()
        for old, new in self.edits.items():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        said = [self.name.format(id=number, name=name) for number, name in enumerate(self.names, 1)]
        return text.replace(self.start, "".join(said) + self.start, 1)


PHASES = Beating(
    "phases.c", "0.3", "--cflags",
    {
        "#include <stdint.h>": "#include <appekg.h>\n#include <stdint.h>",
        "fill_keys(uint64_t seed)\n{": "fill_keys(uint64_t seed)\n{\n    EKG_SCOPE(1);",
        "build_table(void)\n{": "build_table(void)\n{\n    EKG_SCOPE(2);",
        "lookup_batch(uint32_t stride)\n{": "lookup_batch(uint32_t stride)\n{\n    EKG_SCOPE(3);",
        "b++)\n            sum += check_bucket(b);": "b++) {\n EKG_SCOPE(4);\n sum += check_bucket(b);\n }",
    },
    ("fill_keys:body", "build_table:body", "lookup_batch:body", "validate:loop"), "    double scale",
)  # fmt: skip
MESH = Beating(
    "mesh.cpp", "1.2", "--cflags",
    {
        "#include <algorithm>": "#include <appekg.h>\n#include <algorithm>",
        "refine(std::size_t most)\n    {": "refine(std::size_t most)\n    {\n EKG_SCOPE(1);",
        "double sweep()\n    {": "double sweep()\n    {\n EKG_SCOPE(2);",
        "project(const M &mesh)\n{": "project(const M &mesh)\n{\n EKG_SCOPE(3);",
    },
    ("Mesh::refine:body", "Mesh::sweep:body", "project:body"), "    double scale",
)  # fmt: skip
HEAT = Beating(
    "heat.f90", "0.5", "--fflags",
    {
        "program main\n  use heat\n": "program main\n  use heat\n  use appekg\n",
        "    call set_sources(k)": "    call ekg_begin(1)\n    call set_sources(k)\n    call ekg_end(1)",
        "    call jacobi_step()": "    call ekg_begin(2)\n    call jacobi_step()\n    call ekg_end(2)",
        "    call histogram(bins)": "    call ekg_begin(3)\n    call histogram(bins)\n    call ekg_end(3)",
    },
    ("heat::set_sources:body", "heat::jacobi_step:body", "heat::histogram:body"), "  scale = 1\n",
    "  call ekg_name({id}, '{name}')\n",
)  # fmt: skip
BEATING = {"beating-c": PHASES, "beating-cpp": MESH, "beating-fortran": HEAT}
