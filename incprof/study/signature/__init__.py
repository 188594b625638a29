"""The signature of a traced run (docs/signature.md).

Names are imported where they are used: a rank that only becomes the program reads its signature, and nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from incprof.analysis.signature.elsewhere import Prediction as Prediction
    from incprof.analysis.signature.find import Signature as Signature
    from incprof.analysis.signature.results import SignatureOptions as SignatureOptions
    from incprof.model.signature import SignatureFile as SignatureFile
    from incprof.readers.signature import read_signature as read_signature
    from incprof.study.signature.find import found as found
    from incprof.study.signature.predict import trace_of as trace_of
    from incprof.study.signature.program import DIFFERENCES as DIFFERENCES
    from incprof.study.signature.program import differences as differences
    from incprof.study.signature.program import other_ranks as other_ranks
    from incprof.study.signature.program import program_here as program_here

_MODULES = {
    "Prediction": "incprof.analysis.signature.elsewhere",
    "Signature": "incprof.analysis.signature.find",
    "SignatureOptions": "incprof.analysis.signature.results",
    "SignatureFile": "incprof.model.signature",
    "read_signature": "incprof.readers.signature",
    "found": "incprof.study.signature.find",
    "trace_of": "incprof.study.signature.predict",
    "DIFFERENCES": "incprof.study.signature.program",
    "differences": "incprof.study.signature.program",
    "other_ranks": "incprof.study.signature.program",
    "program_here": "incprof.study.signature.program",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
