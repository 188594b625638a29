"""Findings, stored with everything that reproduces them."""

from __future__ import annotations

import collections
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Of findings that look the same, so many are kept.
MOST_ALIKE = 3


@dataclass(frozen=True)
class Finding:
    """case: its name, which draws it again. wrong: a line that describes the fault. kept: its folder, if stored."""

    case: str
    wrong: str
    kept: Path | None


def signature(case: str, wrong: str) -> str:
    """Return the part of a message that findings of the same cause have in common."""
    return case.split("/")[0] + ": " + re.sub(r"'[^']*'|\"[^\"]*\"|0x[0-9a-f]+|[\d.]+|/\S+", "#", wrong)[:120]


@dataclass
class Keeper:
    """Store findings below a folder. command: reproduces a case; `{case}` is its name."""

    folder: Path
    command: str
    found: list[Finding] = field(default_factory=list)
    alike: collections.Counter[str] = field(default_factory=collections.Counter)

    def keep(self, case: str, wrong: str, files: Mapping[str, bytes], **facts: Any) -> None:
        """Store a finding: its files, and finding.json with the facts."""
        kind = signature(case, wrong)
        self.alike[kind] += 1
        place = None
        if self.alike[kind] <= MOST_ALIKE:
            place = self.folder / case.replace("/", "-")
            for path, data in files.items():
                target = place / "files" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            place.mkdir(parents=True, exist_ok=True)
            facts = {"case": case, "wrong": wrong, "again": self.command.format(case=case), **facts}
            (place / "finding.json").write_text(json.dumps(facts, indent=1))
        self.found.append(Finding(case, wrong, place))

    def lines(self) -> list[str]:
        """Return a line for each kind of finding and each stored case."""
        out = [f"{number} x {kind}" for kind, number in self.alike.most_common()]
        for finding in self.found:
            if finding.kept is not None:
                out.append(f"  {self.command.format(case=finding.case)}    # {finding.wrong[:200]}; {finding.kept}")
        return out
