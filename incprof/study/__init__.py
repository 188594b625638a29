"""The application: a run is a Study. Files meet algorithms here; nothing here prints or knows of a command line."""

from incprof.study.options import Libs, Method, StudyOptions
from incprof.study.study import Study
from incprof.study.voice import SILENT, Voice

__all__ = ["SILENT", "Libs", "Method", "Study", "StudyOptions", "Voice"]
