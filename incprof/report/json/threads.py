"""The roles of threads as an object, key `threads` of incprof.phases/1: docs/use/phases.md."""

from __future__ import annotations

from typing import Any

from incprof.analysis.thread_roles import ThreadRoles


def threads_dict(found: ThreadRoles) -> dict[str, Any]:
    """Return the object."""
    return {
        "count": found.count,
        "roles": [
            {
                "role": role.name,
                "threads": list(role.threads),
                "cpu_s": round(role.cpu_s, 9),
                "share": round(role.share, 9),
                "phases": [
                    {"id": phase.id, "cpu_s": round(phase.cpu_s, 9), "busy": round(phase.busy, 9)}
                    for phase in role.phases
                ],
                "functions": [
                    {"name": function.name, "module": function.module, "share": round(share, 9)}
                    for function, share in role.functions
                ],
            }
            for role in found.roles
        ],
        "imbalance": [
            {
                "phase": one.phase,
                "threads": list(one.threads),
                "imbalance": round(one.imbalance, 9),
                "differ": [{"thread": other.thread, "more": round(other.more, 9)} for other in one.differ],
            }
            for one in found.imbalances
        ],
    }
