"""Code shared by programs of any kind, as the collector classifies libraries."""

from __future__ import annotations

import re
from functools import cache

# Names after `lib`; those that end in * are prefixes. A test compares this with preload/objects/shared_code.c.
LIBRARIES = """
c m mvec pthread dl rt util resolv nsl nss_* crypt anl thread_db BrokenLocale
gcc_s stdc++ c++ c++abi gfortran quadmath gomp omp iomp5 atomic asan tsan ubsan lsan unwind gnat gnarl
gphobos gdruntime phobos2* druntime*
objc ifcore* ifport* imf svml intlc irc irc_s flang* pgmath nvc nvf nvomp nvcpumath* tbb* cilkrts
mpi* mpich* fmpich* open-rte open-pal prrte pmix pmi* hwloc event* ucp ucs uct ucm ucc fabric ibverbs rdmacm psm* munge
numa nccl rccl
blas* cblas openblas* scipy_openblas* blis* atlas flexiblas* mkl_* lapack* scalapack* armpl* essl* satlas tatlas fftw*
hdf5* netcdf* pnetcdf* sz aec adios2*
ffi jvm jli incprof* appekg
jemalloc tcmalloc* mimalloc* cuda* cublas* cufft* nvidia-* amdhip64 hsa-runtime64 OpenCL
""".split()
WHOLE = frozenset(name for name in LIBRARIES if not name.endswith("*"))
BEGINNINGS = tuple(name[:-1] for name in LIBRARIES if name.endswith("*"))
OTHERS = ("[", "ld-", "ld.so", "mca_")
STEM = re.compile(r"[^.]*?(?=-\d|\.|$)")


@cache
def is_shared(path: str) -> bool:
    """Return whether a module is shared code, not a program's own."""
    name = path.rpartition("/")[2]
    if name.startswith(OTHERS):
        return True
    if not name.startswith("lib"):
        return False
    stem = STEM.match(name[3:])
    return stem is not None and (stem[0] in WHOLE or stem[0].startswith(BEGINNINGS))
