"""What random C programs begin and end with, what their functions return, and how."""

from __future__ import annotations

from dataclasses import dataclass

HEAD = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define TWICE(x) ((x) + (x))
#define EITHER(c, a, b) ((c) ? (a) : (b))
#define API
typedef struct { int first; const char *second; } pair;
struct wide { long values[40]; };
typedef int (*operation)(int);
static unsigned state = 1;
static int fuel;
static long seen[@SEEN@], left[@LEFT@];
static double sum;
static int pick(int n) { state = state * 1103515245u + 12345u; return (int)((state >> 16) % (unsigned)n); }
static int fuelled(void) { return fuel-- > 0; }
static void start(int number) { seen[number]++; }
static int more(int number) { if (pick(5) == 0 || !fuelled()) return 0; seen[number]++; return 1; }
static int leave(int number) { left[number]++; return number; }
static int next_one(int x) { return x + 1; }
static pair pair_of(int x) { pair p; p.first = x; p.second = "second"; return p; }
static struct wide wide_of(int x) { struct wide w; memset(&w, 0, sizeof w); w.values[39] = x; return w; }
static const char *text_of(int x) { return "a longer text" + x % 9; }
static operation operation_of(int x) { return x % 2 ? next_one : abs; }
"""

TAIL = """\
int main(void)
{
    int i;
    for /* loop 0 */ (i = 0; i < 12; i++) {
        start(0);
@CALLS@
    }
    for /* loop 1 */ (i = 0; i < (int)(sizeof seen / sizeof *seen); i++)
        if (i > 1) printf("seen %d %ld\\n", i, seen[i]);
    for (i = 0; i < (int)(sizeof left / sizeof *left); i++)
        printf("left %d %ld\\n", i, left[i]);
    printf("seen 0 %ld\\nsum %.17g\\n", seen[0], sum);
    return (int)sum & 127;
}
"""


@dataclass(frozen=True)
class Kind:
    """A type that functions return. before, after: around its name; result: of a number; value: a number of it."""

    before: str
    result: str
    value: str
    after: str = ""


KINDS = [
    Kind("int ", "%s", "%s"),
    Kind("unsigned long ", "(unsigned long)%s", "(double)%s"),
    Kind("const char *", "text_of(%s)", "(double)strlen(%s)"),
    Kind("char *const ", "(char *)text_of(%s)", "(double)strlen(%s)"),
    Kind("const char *const *", "(%s, (const char *const *)0)", "(double)(%s != 0)"),
    Kind("pair ", "pair_of(%s)", "%s.first"),
    Kind("const pair ", "pair_of(%s)", "%s.first"),
    Kind("struct wide ", "wide_of(%s)", "(double)%s.values[39]"),
    Kind("double ", "%s / 4.0", "%s"),
    Kind("operation ", "operation_of(%s)", "%s(3)"),
    Kind("int (*", "operation_of(%s)", "%s(4)", ")(int)"),
    Kind("API char ", "(char)(%s & 15)", "%s"),
    Kind("", "%s", "%s"),
]
VOID = Kind("void ", "", "")

RETURNS = [
    "return %s;",
    "return (%s);",
    "return(%s);",
    "return\n%s\n;",
    "return /* why */ %s /* ; } */;",
    "return total++, %s;",
    "return total > 2 ? %s : %s;",
    "return EITHER(total > 3, %s, %s);",
]
