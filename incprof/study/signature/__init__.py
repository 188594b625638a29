"""The signature of a traced run (docs/signature.md)."""

from incprof.analysis.signature.elsewhere import Prediction as Prediction
from incprof.analysis.signature.find import Signature as Signature
from incprof.analysis.signature.results import SignatureOptions as SignatureOptions
from incprof.model.signature import SignatureFile as SignatureFile
from incprof.readers.signature import read_signature as read_signature
from incprof.study.signature.find import found as found
from incprof.study.signature.predict import predict as predict
from incprof.study.signature.predict import trace_of as trace_of
from incprof.study.signature.scales import scales as scales
from incprof.study.signature.within import within as within
