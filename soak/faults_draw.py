"""A case of this part: a script for the host, the settings of the libraries, and the state of the run directory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from soak.faults_actions import ENDS, GROUPS, Action, action_of
from soak.faults_hosts import Build

LONGEST = 9
# Actions that start another program in the place of a process.
PROGRAMS = ("exec", "execbare", "forkexec", "vfork", "vforkreset", "spawn")
# Ends after which all heartbeats are on record (docs/use/appekg.md).
ENDS_OF_BEATS = ("exit", "texit")
PLACES = ("none", "missing", "file", "fifo", "other", "locked", "link", "full")
PLACE_WEIGHTS = (60, 3, 2, 2, 3, 2, 2, 6)
# Names of settings, and what they are set to; None leaves them out. The first of a few is the most frequent one.
SETTINGS: dict[str, tuple[str | None, ...]] = {
    "INCPROF_INTERVAL": ("0.01", "0.001", "0.02", "0.05", "0.25", "1", None, "abc", "-1"),
    "INCPROF_RATE": ("100", None, "1", "250", "1000", "3000", "10000", "1e9"),
    "INCPROF_CLOCK": (None, "cpu", "perf", "sundial"),
    "INCPROF_FORMAT": ("stream", "stream", "stream", None, "gmon"),
    "INCPROF_OVERHEAD": (None, None, None, "100", "0.1"),
    "INCPROF_FOLLOW": (None, None, None, None, "0"),
    "INCPROF_LIBS": (None, None, None, "separate", "drop"),
    "INCPROF_LOG": (None, None, None, "quiet", "debug", "loud"),
    "INCPROF_RANK": (None, None, "0", "7", "x"),
    "INCPROF_RANKS": (None, None, None, None, None, "0-9", "5", ","),
    "INCPROF_EXE": (None, None, None, None, "*", "nothing"),
    "INCPROF_IO": (None, None, "1", "0"),
    "INCPROF_DISABLE": (None,) * 12 + ("1",),
    "EKG_INTERVAL": ("0.01", "0.001", "0.1", None, "x"),
    "EKG_RATE": (None, None, None, "10"),
    "EKG_CLOCK": (None, None, "monotonic"),
    "EKG_START": (None, None, None, None, "off"),
    "EKG_SINK": (None, None, None, "none", "file,prometheus"),
}
BAD = ("abc", "-1", "1e9", "sundial", "loud", "x", ",")


@dataclass(frozen=True)
class Fault:
    """A script, settings and the state of the run directory.

    script: words for the host. build: of the host. settings: environment. place: what is where the run is written.
    """

    script: tuple[str, ...]
    build: Build
    settings: tuple[tuple[str, str], ...]
    place: str = "none"

    @property
    def actions(self) -> list[Action]:
        """The actions of the script."""
        return [action_of(word) for word in self.script]

    @property
    def harmed(self) -> bool:
        """Whether a recording may end before the program does, with a message."""
        return self.place != "none" or any(action.harms for action in self.actions)

    @property
    def loose(self) -> bool:
        """Whether threads are running when it ends."""
        return any(action.loose for action in self.actions)

    @property
    def starts_programs(self) -> bool:
        """Whether one of its processes may try an exec, and continue if that fails."""
        return any(action.name in (*PROGRAMS, "execfails") for action in self.actions)

    @property
    def spoilt(self) -> bool:
        """Whether the host damages its own recording."""
        return any(action.name in ("truncated", "rmdir") for action in self.actions)

    @property
    def without_moments(self) -> tuple[str, ...]:
        """The script of a run without kills."""
        return tuple(word for word in self.script if word.split(":")[0] not in ("killin", "termin"))

    def setting(self, name: str) -> str:
        """Return the value of a setting, or an empty text."""
        return dict(self.settings).get(name, "")

    @property
    def settings_speak(self) -> bool:
        """Whether the settings cause a message: an invalid value, or a lowered rate."""
        bad = any(value in BAD for _, value in self.settings)
        return bad or self.setting("INCPROF_CLOCK") != "" or self.setting("INCPROF_RATE") in ("1000", "3000", "10000")

    @property
    def records(self) -> bool:
        """Whether the settings make the host record a stream."""
        off = (("INCPROF_DISABLE", "1"), ("INCPROF_RANKS", "5"), ("INCPROF_EXE", "nothing"), ("INCPROF_FORMAT", "gmon"))
        return not any(pair in self.settings for pair in off)

    @property
    def beats(self) -> bool:
        """Whether heartbeats are recorded in files, to the end."""
        names = [action.name for action in self.actions]
        if "exec" in names or (names and self.actions[-1].ends and names[-1] not in ENDS_OF_BEATS):
            return False
        return not any(pair in self.settings for pair in (("EKG_START", "off"), ("EKG_SINK", "none")))

    def shorter(self) -> list[Fault]:
        """Return the same fault without each of its items in turn."""
        words = [self.script[:i] + self.script[i + 1 :] for i in range(len(self.script))]
        settings = [self.settings[:i] + self.settings[i + 1 :] for i in range(len(self.settings))]
        return [replace(self, script=w) for w in words] + [replace(self, settings=s) for s in settings]


def draw_script(dice: Random, build: Build) -> tuple[str, ...]:
    """Return actions, and an end."""
    words: list[str] = []
    plain_only = False
    for _ in range(dice.randint(1, LONGEST)):
        (group,) = dice.choices([group for group, _ in GROUPS], [weight for _, weight in GROUPS])
        usable = [action for action in group if (action.plain or not plain_only) and not (action.late and plain_only)]
        # The next program's stderr would be the host's file, and its own; or it would be recorded by glibc's runtime.
        if any(word.startswith(("steal", "clearenv")) for word in words):
            usable = [action for action in usable if action.name not in PROGRAMS]
        # Without room for a signal, none comes that has to wait in line.
        if any(word.startswith("sigpending") for word in words):
            usable = [action for action in usable if action.name not in ("acancel", "realtime")]
        # What is kept for each of thousands of threads takes address space.
        if any(word.startswith("as") for word in words):
            usable = [action for action in usable if action.name != "crowd"]
        # A thread that does not block the signal may take it.
        if any(action_of(word).loose for word in words):
            usable = [action for action in usable if action.name not in ("sigwait", "signalfd", "blockall", "pause")]
        if build.counted:
            usable = [action for action in usable if action.name != "execbare"]
        # The heartbeats' thread is there to the end (docs/reference/reliability.md).
        if build.beats:
            usable = [action for action in usable if action.name != "userns"]
        if not usable:
            continue
        (action,) = dice.choices(usable, [action.weight for action in usable])
        words.append(action.draw(dice))
        plain_only = plain_only or action.late
    # Threads that may be the last ones, or go on for ever.
    loose = any(action_of(word).loose or word.startswith("detach") for word in words)
    ends = [action for action in ENDS if (action.plain or not plain_only) and not (action.leaves and loose)]
    (end,) = dice.choices(ends, [action.weight for action in ends])
    if any(word.startswith("clos") for word in words) and dice.random() < 0.7:
        words.append("fds:0")
    if any(word.startswith("steal") for word in words):
        words.append("stolen:0")
    return (*words, *([] if end.name == "end" else [end.draw(dice)]))


def draw_fault(dice: Random, builds: Sequence[Build]) -> Fault:
    """Return a case; it depends only on the random generator."""
    settings = []
    for name, values in SETTINGS.items():
        value = dice.choice(values)
        # Most of the time, no nonsense.
        if value in BAD and dice.random() < 0.7:
            value = values[0]
        if value is not None:
            settings.append((name, value))
    (place,) = dice.choices(PLACES, PLACE_WEIGHTS)
    build = dice.choice(builds)
    return Fault(draw_script(dice, build), build, tuple(settings), place)
