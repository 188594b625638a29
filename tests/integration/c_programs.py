"""Random C programs that count for themselves how often each function and each loop's iteration starts.

They leave functions and loops in every way and at every position that C allows, and print the counts.
Each loop has its number in a comment before its head, `for /* loop 7 */ (...)`; function f3 has number 3.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from tests.integration.c_program_texts import HEAD, KINDS, RETURNS, TAIL, VOID, Kind


@dataclass(frozen=True)
class Scope:
    """Where a statement stands."""

    depth: int = 0
    loop: bool = False
    breakable: bool = False
    labels: tuple[str, ...] = ()  # that a goto may name

    def deeper(self) -> Scope:
        return replace(self, depth=self.depth + 1)


@dataclass
class Programs:
    """Writes one program."""

    random: Random
    functions: int
    seen: int = 0
    left: int = 0
    used: set[str] = field(default_factory=set)
    kinds: list[Kind] = field(default_factory=list)

    def program(self) -> str:
        self.seen = self.functions + 2
        texts = [self.function(number) for number in range(2, self.functions + 2)]
        again = "state = {0} + (unsigned)i * 977u; fuel = 40;"
        calls = "\n".join(f"        {again.format(n)} {self.call(n)}" for n in range(2, self.functions + 2))
        head = HEAD.replace("@SEEN@", str(self.seen)).replace("@LEFT@", str(self.left + 1))
        return head + "\n".join(texts) + "\n" + TAIL.replace("@CALLS@", calls)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def function(self, number: int) -> str:
        kind = VOID if self.chance(20) else self.random.choice(KINDS)
        self.kind, self.made, self.number = kind, 0, number
        old = self.chance(25) and kind.before != ""
        given = ("(a, s)", " int a; const char *s;") if old else ("(int a, const char *s)", "")
        named = f"static {kind.before}f{number}{given[0]}{kind.after}{given[1]}"
        first = [f"start({number});", "total += s[0];"]
        body = [*first, *self.sequence(Scope(), 2 + self.random.randrange(4))]
        if kind is not VOID:
            body.append(self.returned())
        elif self.chance(40):
            body.append(self.random.choice(["return;", "if (pick(2)) return; else total++;"]))
        declared = ["int total = a * pick(3);", "static int calls;"]
        text = "\n".join(declared + ["calls++;"] + body + (["sum += total;"] if kind is VOID else []))
        self.kinds.append(kind)
        return f"{named}\n{{\n{text}\n}}"

    def call(self, number: int) -> str:
        kind, called = self.kinds[number - 2], f'f{number}(pick(9), "text")'
        return f"{called};" if kind is VOID else f"sum += {kind.value % called};"

    def sequence(self, scope: Scope, count: int) -> list[str]:
        """Statements; one may have a label that those before it go to, and it itself as long as there is fuel."""
        texts: list[str] = []
        label = f"l{self.number}_{self.made}"
        self.made += 1
        at = self.random.randrange(count + 1)
        for _ in range(at):
            texts.append(self.statement(replace(scope, labels=(*scope.labels, label))))
        again = f" if (fuelled()) goto {label};" if self.chance(15) else ""
        if label in self.used or again:
            texts.append(f"{label}: {self.simple(scope)}{again}")
        texts += [self.statement(scope) for _ in range(count - at)]
        return texts

    def statement(self, scope: Scope) -> str:
        if scope.depth > 4:
            return self.simple(scope)
        makers = [self.simple, self.simple, self.way_out, self.branch, self.branch, self.loop, self.loop]
        return self.random.choice([*makers, self.switch, self.block, self.split, self.expression])(scope)

    def simple(self, scope: Scope) -> str:
        texts = ["total++;", "total += pick(7);", "{ }", ";", "total = TWICE(total) & 63;", "if (pick(3) > 7) abort();"]
        if self.kinds and self.chance(30):
            return f"if (fuelled()) {self.call(self.random.randrange(len(self.kinds)) + 2)}"
        return self.random.choice(texts)

    def returned(self) -> str:
        self.left += 1
        if self.kind is VOID:
            return "return;"
        value = self.kind.result % f"leave({self.left})"
        return self.random.choice(RETURNS).replace("%s", value)

    def way_out(self, scope: Scope, *, bare: bool = False) -> str:
        """An exit, unless `bare` behind a condition: code after it shall run."""
        ways = [self.returned()]
        if scope.loop:
            ways += ["continue;"] * 2
        if scope.breakable:
            ways += ["break;"] * 2
        if scope.labels:
            label = self.random.choice(scope.labels)
            ways += [f"goto {label};"] * 2
        way = self.random.choice(ways)
        if way.startswith("goto"):
            self.used.add(way[5:-1])
        if bare:
            return way
        return f"if (pick(4) == 0) {way}" if self.chance(85) else f"if (pick(9)) total--; else {way}"

    def body(self, scope: Scope) -> str:
        """What a condition or a loop holds: a block, a statement, or an exit by itself."""
        if self.chance(55):
            return "{\n" + "\n".join(self.sequence(scope, 1 + self.random.randrange(3))) + "\n}"
        if self.chance(30):
            return self.way_out(scope, bare=self.chance(50))
        text = self.statement(scope)
        # Parsers cannot read `if (x)` before a directive; compilers can.
        return "{" + text + "}" if text.startswith("\n#") and self.chance(95) else text

    def branch(self, scope: Scope) -> str:
        text = f"if (pick(3) == 1) {self.body(scope.deeper())}"
        return text + f" else {self.body(scope.deeper())}" if text.endswith("}") and self.chance(50) else text

    def block(self, scope: Scope) -> str:
        inner = "\n".join(self.statement(scope.deeper()) for _ in range(2))
        return "{\nint extra = pick(5);\n" + inner + "\ntotal += extra;\n}"

    def loop(self, scope: Scope) -> str:
        number, tag = self.seen, f"/* loop {self.seen} */"
        self.seen += 1
        inner = replace(scope.deeper(), loop=True, breakable=True)
        form = self.random.randrange(4)
        if form == 0:
            return f"while {tag} (more({number})) {self.body(inner)}"
        if form == 1:
            return f"for {tag} (total &= 63; more({number}); total++) {self.body(inner)}"
        if form == 2:
            return f"{{ start({number});\ndo {tag} {self.body(inner)} while (more({number})); }}"
        out = self.random.choice(["break;", self.returned()])
        rest = "\n".join(self.sequence(inner, 2))
        return f"for {tag} (;;) {{ start({number});\nif (!fuelled()) {out}\n{rest}\n}}"

    def switch(self, scope: Scope) -> str:
        inner = replace(scope.deeper(), breakable=True)
        if self.chance(1):
            return f"switch (pick(2)) case 1: {self.statement(inner)}"
        texts = []
        for case in range(2 + self.random.randrange(3)):
            name = "default" if case == 3 else f"case {case}"
            text = "\n".join(self.statement(inner) for _ in range(self.random.randrange(3)))
            last = self.random.choice(
                ["break;", "break;", "{ total--; break; }", self.returned(), "/* fall through */"]
            )
            texts.append(f"{name}: {text or ';'}\n{last}")
        return "switch (pick(5)) {\n" + "\n".join(texts) + "\ncase 9: total++;\n}"

    def split(self, scope: Scope) -> str:
        """Exits that the preprocessor chooses from."""
        one, other = self.way_out(scope), self.way_out(scope)
        return f"\n#ifdef NEVER\n{one}\n#else\n{other}\n#endif\n"

    def expression(self, scope: Scope) -> str:
        return f"total += __extension__ ({{ {self.way_out(scope)} pick(3); }});"


def c_program(random: Random, functions: int) -> str:
    """The text of a program with so many functions besides main."""
    return Programs(random, functions).program()
