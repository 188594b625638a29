"""Next steps for a recorded run: sentences, and the commands to type."""

from __future__ import annotations

import shlex

from incprof.analysis.phase_result import PhaseResult
from incprof.report.words.formatting import count


def next_steps(result: PhaseResult, directory: str, source: str | None) -> list[tuple[str, str]]:
    """Return the next steps, each with its command."""
    told = []
    where, at = shlex.quote(directory), shlex.quote(source or ".")
    sites = {site.heartbeat for phase in result.phases for site in phase.sites}
    if sites:
        told.append(
            (
                f"Make a patch that adds {count(len(sites), 'heartbeat')} to the source",
                f"incprof instrument {where} --source {at} --patch beats.patch",
            )
        )
    told.append(("See why these are the phases and sites", f"incprof phases {where} --explain"))
    told.append(("Compare with the run of another version, recorded into NEW", f"incprof diff {where} NEW"))
    return told
