"""The signature of a traced run (docs/signature.md)."""

from incprof.analysis.signature.find import Signature as Signature
from incprof.analysis.signature.results import SignatureOptions as SignatureOptions
from incprof.study.signature.find import found as found
from incprof.study.signature.within import within as within
