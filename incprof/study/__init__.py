"""The application: a run is a Study, which reads files and runs the algorithms on them.

Nothing here prints or depends on a command line.
"""

from incprof.study.phase_options import Libs, Method, StudyOptions
from incprof.study.study import Study

__all__ = ["Libs", "Method", "Study", "StudyOptions"]
