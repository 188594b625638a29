"""The application: a run is a Study. Files meet algorithms here; nothing here prints or knows of a command line."""

from incprof.study.options import Libs, Method, StudyOptions
from incprof.study.study import Study

__all__ = ["Libs", "Method", "Study", "StudyOptions"]
