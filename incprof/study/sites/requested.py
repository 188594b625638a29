"""Sites named by the user: `--site FUNC`, `--site FUNC:body`, `--site FUNC:loop`."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.phase_result import PhaseResult
from incprof.errors import UsageError
from incprof.model import IntervalProfile
from incprof.model.names import parse

KINDS = ("body", "loop")
# A phase counts as one of the function's when it has at least this share of its time.
PART = 0.05
LISTED = 6


@dataclass(frozen=True)
class Wanted:
    """A site named by hand.

    Attributes:
        name: of the function.
        index: of the function in the profile; None for one that is not in it: never called, or inlined everywhere.
        kind: "body" where neither the user nor the profile decides.
        phases: those in which it has self time, or none.
        near: similar names.
    """

    name: str
    index: int | None
    kind: str
    phases: tuple[int, ...]
    near: tuple[str, ...] = ()


def by_hand(names: Sequence[str], profile: IntervalProfile, result: PhaseResult) -> list[Wanted]:
    """Find the named functions, each once.

    Raises:
        UsageError: several functions have that name.
    """
    known: defaultdict[str, list[int]] = defaultdict(list)
    for index, function in enumerate(profile.functions):
        if function.is_code:
            known[parse(function.name).written].append(index)
    found = [_wanted(text, known, profile, result) for text in names]
    return list(dict.fromkeys(found))


def _wanted(text: str, known: dict[str, list[int]], profile: IntervalProfile, result: PhaseResult) -> Wanted:
    """Find one function, the phases it runs in, and unless given the kind that suits it."""
    name, colon, kind = text.rpartition(":")
    if not colon or kind not in KINDS or name.endswith(":"):
        name, kind = text, ""
    meant = _meant(text, name, known, profile)
    if meant is None:
        return Wanted(name, None, kind or "body", (), _near(name, known))
    members = known[meant]
    self_s = np.asarray(profile.self_s[:, members].sum(axis=1)).ravel()
    time = [float(self_s[result.labels == phase.id].sum()) for phase in result.phases]
    phases = tuple(i for i, seconds in enumerate(time) if seconds > 0 and seconds >= PART * sum(time))
    index = max(members, key=lambda i: (float(profile.self_s[:, [i]].sum()), -i))
    calls = np.asarray(profile.calls[:, members].sum(axis=1)).ravel()[self_s > 0]
    is_inlined = profile.inlined is not None and index in profile.inlined.function  # its calls are not counted
    lasts = len(calls) and 2 * int((calls > 0).sum()) <= len(calls)
    usual = "loop" if lasts and not is_inlined else "body"
    return Wanted(name, index, kind or usual, phases)


def _meant(text: str, name: str, known: dict[str, list[int]], profile: IntervalProfile) -> str | None:
    """Return the one known name that matches: the name itself, or one that ends with it; None when there is none.

    In C++ the name may follow `::`, in Python the file's name or a class. The program's own functions precede a
    library's.
    """
    if name in known:
        return name
    ends = sorted(full for full in known if full.endswith((f":{name}", f".{name}")))
    own = [full for full in ends if not all(profile.functions[index].system for index in known[full])]
    ends = own or ends
    if len(ends) > 1:
        more = ", ..." if len(ends) > LISTED else ""
        raise UsageError(f"--site {text}: several functions have that name: {', '.join(ends[:LISTED])}{more}")
    return ends[0] if ends else None


def _near(name: str, known: dict[str, list[int]]) -> tuple[str, ...]:
    """Return similar known names, nearest first."""
    last = name.rsplit("::", 1)[-1].lower()
    by_last: dict[str, str] = {}
    for full in sorted(known):
        by_last.setdefault(full.rsplit("::", 1)[-1].lower(), full)
    return tuple(by_last[match] for match in difflib.get_close_matches(last, by_last, n=3))
