/* Thread safety: constants only. */
#include "modules.h"

#include <stddef.h>
#include <string.h>

/* A name, or a prefix with *: the part between `lib` and the first dot or the version. */
static const char *const names[] = {
    /* the C library and its companions */
    "c", "m", "mvec", "pthread", "dl", "rt", "util", "resolv", "nsl", "nss_*", "crypt", "anl", "thread_db",
    "BrokenLocale",
    /* run-times of compilers */
    "gcc_s", "stdc++", "c++", "c++abi", "gfortran", "quadmath", "gomp", "omp", "iomp5", "atomic", "asan", "tsan",
    "ubsan", "lsan", "unwind", "gnat", "gnarl", "gphobos", "gdruntime", "phobos2*", "druntime*", "objc", "ifcore*",
    "ifport*", "imf", "svml", "intlc", "irc", "irc_s", "flang*", "pgmath", "nvc", "nvf", "nvomp", "nvcpumath*", "tbb*",
    "cilkrts",
    /* MPI, and its transports and launchers */
    "mpi*", "mpich*", "fmpich*", "open-rte", "open-pal", "prrte", "pmix", "pmi*", "hwloc", "event*", "ucp", "ucs",
    "uct", "ucm", "ucc", "fabric", "ibverbs", "rdmacm", "psm*", "munge", "numa", "nccl", "rccl",
    /* linear algebra, transforms, file formats of numbers */
    "blas*", "cblas", "openblas*", "scipy_openblas*", "blis*", "atlas", "flexiblas*", "mkl_*", "lapack*", "scalapack*",
    "armpl*", "essl*", "satlas", "tatlas", "fftw*", "hdf5*", "netcdf*", "pnetcdf*", "sz", "aec", "adios2*",
    /* calls into C from other languages */
    "ffi",
    /* Java's run-time */
    "jvm", "jli",
    /* our own, in programs that are recorded from outside */
    "incprof*", "appekg",
    /* memory, GPUs */
    "jemalloc", "tcmalloc*", "mimalloc*", "cuda*", "cupti", "cublas*", "cufft*", "nvidia-*", "amdhip64",
    "hsa-runtime64", "rocprofiler*", "OpenCL"};

/* Return the length of the name up to the dot, or to a version such as -2.36 or -v1. */
static size_t stem_length(const char *name)
{
    size_t length = strcspn(name, ".");
    for (size_t i = 1; i < length; i++)
        if (name[i] == '-' && name[i + 1] >= '0' && name[i + 1] <= '9')
            return i;
    return length;
}

static bool is_listed(const char *stem, size_t length)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size = strlen(names[i]);
        bool is_beginning = names[i][size - 1] == '*';
        size -= is_beginning;
        if ((is_beginning ? length >= size : length == size) && memcmp(stem, names[i], size) == 0)
            return true;
    }
    return false;
}

static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bool shared_code_begins_threads(const char *path)
{
    static const char *const begin[] = {"ld-", "ld.", "libc.", "libc-", "libpthread", "libstdc++", "libc++", "[vdso]"};
    const char *name = name_in(path);
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (strncmp(name, begin[i], strlen(begin[i])) == 0)
            return true;
    return false;
}

bool shared_code_is(const char *path)
{
    const char *name = name_in(path);
    if (*name == '[' || strncmp(name, "ld-", 3) == 0 || strncmp(name, "ld.so", 5) == 0 || strncmp(name, "mca_", 4) == 0)
        return true;
    /* Python's own extension modules, and the backend of cffi's modules */
    if (strstr(path, "/lib-dynload/") != NULL || strncmp(name, "_cffi_backend.", 14) == 0)
        return true;
    if (strncmp(name, "lib", 3) != 0)
        return false;
    return is_listed(name + 3, stem_length(name + 3));
}
