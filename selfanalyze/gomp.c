/* Parallel regions of programs compiled by GCC: the first argument is the function that contains their code. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>

#include "next.h"
#include "openmp.h"

#define CALLER __builtin_return_address(0)

typedef void (*body)(void *);

/* `declared` and `given`: the arguments between the data and the flags. The number of threads is the first of them. */
#define REGION(name, declared, given)                                                                                  \
    EXPORT void name(body function, void *data, unsigned int threads, MORE declared unsigned int flags);               \
    EXPORT void name(body function, void *data, unsigned int threads, MORE declared unsigned int flags)                \
    {                                                                                                                  \
        void (*real)(body, void *, unsigned int, MORE declared unsigned int) = openmp_real(OPENMP_##name, CALLER);     \
        calls_enter((const void *)function, threads, CALLER);                                                          \
        real(function, data, threads, MORE given flags);                                                               \
        calls_leave();                                                                                                 \
    }
#define MORE(...) __VA_ARGS__
#define NO_CHUNK (long from, long to, long step, )
#define CHUNK (long from, long to, long step, long chunk, )

REGION(GOMP_parallel, (), ())
REGION(GOMP_parallel_sections, (unsigned int count, ), (count, ))
REGION(GOMP_parallel_loop_static, CHUNK, (from, to, step, chunk, ))
REGION(GOMP_parallel_loop_dynamic, CHUNK, (from, to, step, chunk, ))
REGION(GOMP_parallel_loop_guided, CHUNK, (from, to, step, chunk, ))
REGION(GOMP_parallel_loop_nonmonotonic_dynamic, CHUNK, (from, to, step, chunk, ))
REGION(GOMP_parallel_loop_nonmonotonic_guided, CHUNK, (from, to, step, chunk, ))
REGION(GOMP_parallel_loop_runtime, NO_CHUNK, (from, to, step, ))
REGION(GOMP_parallel_loop_nonmonotonic_runtime, NO_CHUNK, (from, to, step, ))
REGION(GOMP_parallel_loop_maybe_nonmonotonic_runtime, NO_CHUNK, (from, to, step, ))

EXPORT unsigned int GOMP_parallel_reductions(body function, void *data, unsigned int threads, unsigned int flags);
EXPORT unsigned int GOMP_parallel_reductions(body function, void *data, unsigned int threads, unsigned int flags)
{
    unsigned int (*real)(body, void *, unsigned int, unsigned int) =
        openmp_real(OPENMP_GOMP_parallel_reductions, CALLER);
    calls_enter((const void *)function, threads, CALLER);
    unsigned int team = real(function, data, threads, flags);
    calls_leave();
    return team;
}
