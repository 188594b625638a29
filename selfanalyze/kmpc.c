/* Parallel regions of programs compiled by LLVM's or Intel's compilers. */
#define _GNU_SOURCE
#include "openmp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "next.h"

#define CALLER __builtin_return_address(0)

static __thread unsigned int wanted; /* num_threads clause of the next region */

void *kmpc_before(const void *function, const void *caller)
{
    unsigned int threads = wanted;
    wanted = 0;
    void *real = openmp_real(OPENMP___kmpc_fork_call, caller);
    calls_enter(function, threads, caller);
    return real;
}

void kmpc_after(void)
{
    calls_leave();
}

/* LLVM 16 and later, for a region with an if clause. A region that runs serially counts too. */
EXPORT void __kmpc_fork_call_if(void *place, int32_t count, void *function, int32_t condition, void *arguments);
EXPORT void __kmpc_fork_call_if(void *place, int32_t count, void *function, int32_t condition, void *arguments)
{
    void (*real)(void *, int32_t, void *, int32_t, void *) = openmp_real(OPENMP___kmpc_fork_call_if, CALLER);
    unsigned int threads = wanted;
    wanted = 0;
    calls_enter(function, condition != 0 ? threads : 1, CALLER);
    real(place, count, function, condition, arguments);
    calls_leave();
}

EXPORT void __kmpc_push_num_threads(void *place, int32_t thread, int32_t threads);
EXPORT void __kmpc_push_num_threads(void *place, int32_t thread, int32_t threads)
{
    void (*real)(void *, int32_t, int32_t) = openmp_real(OPENMP___kmpc_push_num_threads, CALLER);
    wanted = threads > 0 ? (unsigned int)threads : 0;
    real(place, thread, threads);
}
