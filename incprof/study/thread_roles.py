"""The roles of a process's threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incprof.errors import NoDataError

if TYPE_CHECKING:
    from incprof.analysis.thread_roles import ThreadRoles
    from incprof.study.study import Study


def threads_of(study: Study) -> ThreadRoles:
    """Find the roles of the threads of a study's process.

    Raises:
        NoDataError: the recording does not distinguish threads.
    """
    from incprof.analysis.thread_roles import thread_roles

    roles = thread_roles(study.profile, study.phases())
    if roles is None:
        raise NoDataError(f"{study.run.directory}: --threads: the samples do not name their threads: record a stream")
    return roles
