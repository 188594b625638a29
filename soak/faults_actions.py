"""The actions of a host program (soak/hosts/*.c), how often each is drawn, and its effect on a recording."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Action:
    """numbers: the range, or the values to choose from. weight: relative frequency.

    ends: nothing comes after it. leaves: it ends one thread only, so that others must end by themselves. harms:
    recording may stop there, with a line. loose: threads go on until the end, so that calls are known to their number
    only. late: after it the process may do less than others need, so it comes last, with nothing but `plain` actions
    and an end behind it.
    """

    name: str
    numbers: tuple[int, ...] = (0, 0)
    weight: float = 1.0
    ends: bool = False
    leaves: bool = False
    harms: bool = False
    loose: bool = False
    late: bool = False
    plain: bool = False
    choice: bool = False

    def draw(self, dice: Random) -> str:
        """Return a word of a script."""
        number = dice.choice(self.numbers) if self.choice else dice.randint(self.numbers[0], self.numbers[-1])
        return f"{self.name}:{number}"


def _some(name: str, *numbers: int, weight: float = 1.0, **what: bool) -> Action:
    return Action(name, numbers or (0,), weight, choice=True, **what)


WORK = (
    Action("work", (1, 5000), 2, plain=True),
    Action("burn", (1, 30), 3, plain=True),
    Action("float", (10, 2000), plain=True),
    Action("sleep", (1, 20), plain=True),
    Action("poll", (1, 10), plain=True),
    Action("alloc", (1, 20000)),
    Action("map", (1, 100)),
    Action("dlopen", (1, 5), 2),
    _some("plugins", 10, 50, 200, 2000, weight=0.5),
    Action("jit", (1, 500)),
)
THREADS = (
    Action("threads", (1, 60), 2),
    Action("churn", (1, 60), 2),
    Action("detach", (1, 20)),
    Action("small", (0, 16)),
    Action("cancel", (1, 5)),
    Action("acancel", (1, 5)),
    Action("keys", (1, 5)),
    _some("crowd", 300, 1000, 2000, weight=0.5),
    Action("busy", (1, 3), loose=True),
)
PROCESSES = (
    Action("fork", (1, 6), 2),
    Action("chain", (1, 5)),
    Action("forkt", (1, 8), 2),
    Action("forkexec", (0, 4), 2),
    Action("vfork", (0, 4), 2),
    Action("vforkreset", (0, 4), 2),
    Action("spawn", (0, 4), 2),
    Action("pool", (1, 4)),
    Action("inherit", (0, 3)),
    Action("startmask", (0, 15), 2),
    Action("system", (0, 255)),
    Action("popen", (0, 99)),
    Action("daemon", (0, 3000)),
    Action("exec", weight=2),
    Action("execbare", weight=0.5),
    Action("execfails", (1, 10)),
)
SIGNALS = (
    Action("urg", (1, 200)),
    Action("winch", (1, 200)),
    Action("storm", (1, 3000)),
    Action("realtime", (0, 200)),
    Action("prof", (1, 5)),
    Action("virtual", (1, 5)),
    Action("real", (1, 5)),
    Action("timer", (1, 10)),
    Action("pause", (1, 20)),
    Action("sigwait", (0, 5), 2),
    Action("signalfd", (0, 5), 2),
    Action("blockall", (1, 10)),
    Action("jumps", (1, 200)),
    Action("masks", weight=2, plain=True),
)
STACKS = (
    Action("deep", (10, 60000), 2),
    Action("alloca", (1, 2000)),
    Action("swap", (8, 64), 2),
    Action("guard", (8, 128)),
    Action("guardt", (8, 128)),
    Action("longjmp", (1, 100)),
)
FILES = (
    Action("fds", weight=2, plain=True),
    Action("closeall", (0, 3), 2, plain=True),
    Action("closerange", (0, 3), 2, plain=True),
    Action("closefd", (0, 2), 0.5, plain=True),
    Action("steal", plain=True),
    Action("stolen", plain=True),
    Action("exhaust", (0, 5)),
    Action("chdir", (0, 1), plain=True),
    Action("lostcwd", plain=True),
    _some("umask", 0o000, 0o022, 0o077, 0o777),
)
# The run directory while the program runs.
DIRECTORY = (
    Action("rmdir", harms=True, plain=True),
    Action("moved", (0, 1), harms=True, plain=True),
    _some("locked", 0, 0o500, 0o300, harms=True, plain=True),
    _some("truncated", 0, 1, 20, 1000, harms=True, plain=True),
)
LIMITS = (
    _some("nofile", 4, 5, 6, 16, 256, harms=True),
    _some("fsize", 8, 16, 64, 4096, harms=True, plain=True),
    _some("stack", 4096, 16384),
    _some("cpu", 30, plain=True),
    _some("sigpending", 0, harms=True),
    _some("as", 400, 1000, harms=True),
    Action("lock", (0, 1)),
    Action("euser", (1, 5), harms=True),
    Action("nice", (0, 4), plain=True),
    Action("affinity", plain=True),
    Action("seccomp", (0, 1), harms=True),
    Action("clearenv", harms=True),
    _some("as", 0, 1, harms=True, late=True),
    _some("nproc", 0, harms=True),
    Action("dumpable", (0, 1)),
    Action("user", (0, 1), 2, harms=True, late=True),
    Action("chroot", harms=True, late=True),
    Action("userns", harms=True, late=True),
)
# Something that happens at any moment, in microseconds from there on.
MOMENTS = (
    Action("killin", (1, 60000), 1, harms=True),
    Action("termin", (1, 60000), 1, harms=True),
    Action("stopin", (1, 60000), 2),
)
ENDS = (
    Action("exit", (0, 255), 4, ends=True, plain=True),
    Action("_exit", (0, 255), 2, ends=True, plain=True),
    Action("quick", (0, 255), ends=True, plain=True),
    Action("group", (0, 255), ends=True, harms=True, plain=True),
    Action("raw", (0, 255), ends=True, leaves=True, plain=True),
    Action("abort", ends=True, harms=True, plain=True),
    _some("raise", 1, 2, 3, 6, 9, 10, 13, 14, 15, 24, 31, weight=2, ends=True, harms=True, plain=True),
    Action("segv", (0, 100), ends=True, harms=True, plain=True),
    Action("illegal", ends=True, harms=True, plain=True),
    Action("exits", (0, 255), ends=True, loose=True),
    Action("texit", (0, 255), ends=True, leaves=True),
    Action("overflow", ends=True, harms=True),
    Action("end", weight=2, ends=True, plain=True),
)
# For a part of its own (stacks.py), and for the tests.
OTHERS = (Action("verydeep", (10, 500000)), Action("differs", (1, 9)))
GROUPS = (
    (WORK, 4.0),
    (THREADS, 3.0),
    (PROCESSES, 3.0),
    (SIGNALS, 3.0),
    (STACKS, 2.0),
    (FILES, 2.0),
    (DIRECTORY, 0.7),
    (LIMITS, 1.5),
    (MOMENTS, 0.7),
)
ALL = {action.name: action for group in (*(group for group, _ in GROUPS), ENDS, OTHERS) for action in group}


def action_of(word: str) -> Action:
    """Return the action that a word names."""
    return ALL[word.partition(":")[0]]
