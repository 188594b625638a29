"""Makes Fortran programs at random: loops and ways out of them inside of each other, which count what they do."""

from __future__ import annotations

import random
from collections.abc import Callable

DEEPEST = 4
LONGEST = 400  # lines, about


def program(chance: random.Random, *, fixed: bool) -> str:
    """A program with ticks (see ticks.f90) that ends by itself, in either form."""
    return _Program(chance, fixed).text()


class _Program:
    def __init__(self, chance: random.Random, fixed: bool):
        self.chance, self.fixed = chance, fixed
        self.lines: list[str] = []
        self.number = 0
        self.loops: list[tuple[str, str]] = []  # name and label of the last statement, or ""
        self.prefix = ""

    def text(self) -> str:
        count = self.chance.randint(2, 4)
        for procedure in range(count):
            self._procedure(procedure)
        self._line("program made", tick="main")
        self._line("use ticks")
        self._line("integer i, total")
        self._line("call tick('main')")
        self._line("total = 0")
        self._line("do i = 1, 4", tick="mainloop")
        self._line("call tick('mainloop')")
        for procedure in range(count):
            self._line(f"call proc{procedure}(i + {procedure}, total)")
        self._line("end do")
        self._line("print *, total")
        self._line("call report()")
        self._line(self.chance.choice(["stop", "continue", "return"]) if self.fixed else "stop")
        self._line("end")
        return "\n".join(self.lines) + "\n"

    def _procedure(self, number: int) -> None:
        name = f"proc{number}"
        self.prefix = name
        self._line(f"subroutine {name}(n, total)", tick=name)
        self._line("use ticks")
        self._line("integer n, total, " + ", ".join(f"i{level}" for level in range(DEEPEST + 1)))
        self._line(f"call tick('{name}')")
        self._body(0)
        # Where branches out of everything lead.
        self._line("total = total + 1", label="900")
        if self.chance.random() < 0.3:
            self._line("if (total .gt. 3) return")
        self._line(self.chance.choice(["end", f"end subroutine {name}", "endsubroutine"]))

    def _body(self, depth: int) -> None:
        for _ in range(self.chance.randint(1, 3)):
            if len(self.lines) > LONGEST:
                return
            kinds: list[Callable[[int], None]] = [self._assignment, self._way_out, self._if]
            if depth < DEEPEST:
                kinds += [self._loop] * 3
            self.chance.choice(kinds)(depth)

    def _assignment(self, depth: int) -> None:
        self._line(f"total = total + {depth} + n")

    def _condition(self) -> str:
        variables = ["n", *(f"i{level}" for level in range(len(self.loops)))]
        return f"mod({self.chance.choice(variables)} + total, {self.chance.randint(2, 5)}) .eq. 1"

    def _way_out(self, depth: int) -> None:
        ways = ["return", "go to 900", "goto 900"]
        if self.loops:
            named = [name for name, _ in self.loops if name]
            ways += ["cycle", "exit", *(f"cycle {name}" for name in named), *(f"exit {name}" for name in named)]
            ways += [f"goto {label}" for _, label in self.loops if label] * 2
        shape = self.chance.randint(0, 2)
        way = self.chance.choice(ways)
        if shape == 0:
            self._line(f"if ({self._condition()}) then")
            self._line("total = total + 1")
            self._line(way)
            self._line("end if")
        elif shape == 1:
            self._line(f"if ({self._condition()}) {way}", split=True)
        else:
            self._line(f"n = n; if ({self._condition()}) {way}; n = n")

    def _if(self, depth: int) -> None:
        self._line(f"if ({self._condition()}) then")
        self._body(depth)
        if self.chance.random() < 0.5:
            self._line("else")
            self._body(depth)
        self._line("end if")

    def _loop(self, depth: int) -> None:
        self.number += 1
        tick = f"{self.prefix}loop{self.number}"
        variable = f"i{len(self.loops)}"
        if len(self.loops) > DEEPEST:
            return
        labelled = self.chance.random() < 0.4
        label = str(100 + self.number) if labelled else ""
        name = f"loop{self.number}" if not labelled and self.chance.random() < 0.6 else ""
        start = f"do {label + ' ' if label else ''}{variable} = 1, {self.chance.randint(1, 3)}"
        self._line(f"{name}: {start}" if name else start, tick=tick)
        self._line(f"call tick('{tick}')")
        self.loops.append((name, label))
        self._body(depth + 1)
        self.loops.pop()
        if label:
            self._line(self.chance.choice(["continue", "total = total + 1", "end do"]), label=label)
        else:
            self._line(f"end do {name}".strip())

    def _line(self, text: str, *, tick: str = "", label: str = "", split: bool = False) -> None:
        """One statement or more, with layout at random."""
        indent = " " * self.chance.randint(0, 5)
        if self.chance.random() < 0.1:
            self.lines.append(("C" if self.fixed else " !") + " return; end do 'not a string")
        if self.fixed and self.chance.random() < 0.5:
            text = text.upper() if "'" not in text else text
        if split and self.chance.random() < 0.6:
            head, way = text.rsplit(") ", 1)
            if self.fixed:
                self.lines += [f"{label:5} {indent}{head})", f"     &{indent}{way}"]
            else:
                self.lines += [f"{label} {indent}{head}) & ! goes on", f"{indent}& {way}"]
            return
        line = f"{label:5} {indent}{text}" if self.fixed else f"{label} {indent}{text}"
        if tick:
            line = f"{line:72} @{tick}" if self.fixed else f"{line} ! @{tick}"
        self.lines.append(line)
