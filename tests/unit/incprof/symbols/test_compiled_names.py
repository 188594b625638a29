"""Functions that run-times compile while a program runs: one for all that was made of it, called as its authors do."""

from __future__ import annotations

import numpy as np
import pytest

from incprof.symbols.function_table import Compiled, compiled, however_compiled
from incprof.symbols.modules import parse_map

SCRIPT = "/home/me/app/run.js"


@pytest.mark.parametrize(
    ("symbol", "said"),
    [
        (f"JS:*sweep {SCRIPT}:12:17", Compiled("run.js:sweep", SCRIPT, 12)),
        (f"JS:~Mesh.sweep {SCRIPT}:12:17", Compiled("run.js:Mesh.sweep", SCRIPT, 12)),
        (f"LazyCompile:^sweep {SCRIPT}:12:17", Compiled("run.js:sweep", SCRIPT, 12)),
        (f"JS:* {SCRIPT}:7:20", Compiled("run.js:<anonymous 7>", SCRIPT, 7)),
        (f"JS:~ {SCRIPT}:1:1", Compiled("run.js:<module>", SCRIPT, 1)),
        ("JS:~load /home/me/my files/a.js:3:1", Compiled("a.js:load", "/home/me/my files/a.js", 3)),
        ("JS:~wrap node:internal/timers:88:3", Compiled("timers:wrap", "node:internal/timers", 88, shared=True)),
        ("double solver.Grid.relax(int)", Compiled("Grid::relax(int)")),
        ("void solver.Grid$Cell.<init>(double[], int)", Compiled("Grid::Cell::<init>(double[], int)")),
        ("void java.util.ArrayList.add(java.lang.Object)", Compiled("ArrayList::add(java.lang.Object)", shared=True)),
        ("Interpreter", Compiled("<interpreted Java>")),
        ("julia_step_123", Compiled("step")),
        ("solver::sweep[abi:v1][abi:c8tJTIeFIjx](Array<double, 1, C, mutable, aligned>)", Compiled("solver::sweep")),
        ("cpython::solver::sweep[abi:v1][abi:c8tJTIeFIjx](long long)", Compiled("solver::sweep")),
        ("__main__::sweep[abi:v1][abi:c8tJTIeFIjx](long long)", Compiled("sweep")),
        ("", Compiled("")),
    ],
)
def test_parts_of_a_name(symbol: str, said: Compiled) -> None:
    assert compiled(symbol) == said
    assert compiled(however_compiled(symbol)) == said


def test_a_function_is_the_same_however_it_was_compiled() -> None:
    made = {however_compiled(f"JS:{mark}sweep {SCRIPT}:12:17") for mark in ("", "~", "^", "*", "+")}
    assert len(made) == 1
    assert however_compiled(f"JS:*sweep {SCRIPT}:13:17") not in made
    assert however_compiled("_ZN7cpython3app5sweepB2v1Ex") == however_compiled("cfunc._ZN3app5sweepB2v1Ex")
    assert however_compiled("_ZN7cpython3app5sweepB2v1Ex") == "_ZN3app5sweepB2v1Ex"


def test_code_that_is_made_again_is_of_one_function() -> None:
    lines = f"1000 20 JS:~sweep {SCRIPT}:12:17\n2000 40 JS:~ {SCRIPT}:1:1\n3000 80 JS:*sweep {SCRIPT}:12:17\n"
    table = parse_map(lines.encode())
    assert [table.name(i) for i in range(len(table))] == [f"JS:sweep {SCRIPT}:12:17", f"JS: {SCRIPT}:1:1"]
    at = np.array([0x1000, 0x1FFF, 0x2000, 0x203F, 0x3000, 0x307F, 0x3080], dtype=np.uint64)
    assert table.find(at).tolist() == [0, -1, 1, 1, 0, 0, -1]


def test_an_empty_map() -> None:
    table = parse_map(b"nonsense\n")
    assert len(table) == 0
    assert table.find(np.array([0x1000], dtype=np.uint64)).tolist() == [-1]
