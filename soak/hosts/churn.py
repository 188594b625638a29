"""Create and drop code objects, frames, generators and threads, so that a sampler sees them change."""

import asyncio
import gc
import hashlib
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any


def churn(seed: int, rounds: int) -> int:
    """Call functions that live for one call, at addresses that are then reused."""
    total = 0
    for i in range(rounds):
        name = f"f{seed}_{i % 97}"
        lines = "\n" * (i % 50)
        text = f"{lines}def {name}(n):\n    x = [j * j for j in range(n)]\n    return sum(x) + (lambda y: y + {i})(n)\n"
        file = f"<made {name} " + "\u00e9" * (i % 3) + "\u6f22" * (i % 2) + ">"
        space: dict[str, Any] = {}
        exec(compile(text, file, "exec"), space)
        total += space[name](i % 40) + eval(f"{i} + sum(k for k in range({i % 30}))")
        if i % 50 == 0:
            gc.collect(0)
    return total


def tree(n: int) -> Iterator[int]:
    """Nest generators."""
    if n:
        yield from tree(n - 1)
        yield n
        yield from tree(n - 1)


def deep(n: int) -> int:
    """Nest calls that the interpreter makes without C."""
    return 0 if n == 0 else 1 + deep(n - 1)


def through_c(n: int) -> int:
    """Nest calls with C in between."""
    return n if n == 0 else max([n], key=lambda x: through_c(x - 1))


async def waits(n: int) -> int:
    """Coroutines in coroutines."""
    await asyncio.sleep(0)
    return n + (await waits(n - 1) if n else 0)


def work(seed: int, rounds: int, out: dict[int, int]) -> None:
    """Run all of it in one thread."""
    total = churn(seed, rounds)
    for i in range(rounds // 20):
        total += sum(tree(8)) + deep(400) + through_c(30) + asyncio.run(waits(20))
        module = types.ModuleType(f"m{i}")
        exec("class C:\n  def f(self): return [g for g in range(50)]\nv = sum(C().f())", module.__dict__)
        total += module.v
        try:
            deep(3000)
        except RecursionError:
            total += 1
    out[seed] = total


def main(rounds: int) -> None:
    """Start threads one after the other."""
    out: dict[int, int] = {}
    for again in range(3):
        threads = [threading.Thread(target=work, args=(seed + 4 * again, rounds, out)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(hashlib.sha256(repr(sorted(out.items())).encode()).hexdigest())


main(int(sys.argv[1]))
