/* Ceilings of this machine: floating-point operations and memory traffic per second, of so many threads at once.
 *
 * Thread-safe. Operations are fused multiply-adds in double precision, in as many independent chains as hide their
 * latency; each counts as two. Traffic is that of the triad of STREAM (McCalpin 1995), a = b + s c: three values of 8
 * bytes for each element, without the lines that a processor reads in order to write them. */
#define _GNU_SOURCE
#include "native.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

NATIVE_API int incprof_roof(int is_triad, int64_t bytes, int threads, double seconds, double *per_second);

enum { CHAINS = 12, TURNS = 4096, MOST_THREADS = 4096, ALIGNMENT = 64, LEAST_PASS = 1 << 20 };

#define KERNELS(suffix, attribute, width)                                                                              \
    typedef double vector_##suffix __attribute__((vector_size(width)));                                                \
    attribute __attribute__((noinline)) static double multiply_##suffix(double start)                                  \
    {                                                                                                                  \
        vector_##suffix chain[CHAINS], factor, term;                                                                   \
        double sum = 0;                                                                                                \
        for (size_t lane = 0; lane < (width) / sizeof(double); lane++) {                                               \
            factor[lane] = 0.999999;                                                                                   \
            term[lane] = 1e-6;                                                                                         \
            for (int k = 0; k < CHAINS; k++)                                                                           \
                chain[k][lane] = start + k;                                                                            \
        }                                                                                                              \
        for (int turn = 0; turn < TURNS; turn++)                                                                       \
            _Pragma("GCC unroll 12") for (int k = 0; k < CHAINS; k++) chain[k] = chain[k] * factor + term;             \
        for (size_t lane = 0; lane < (width) / sizeof(double); lane++)                                                 \
            for (int k = 0; k < CHAINS; k++)                                                                           \
                sum += chain[k][lane];                                                                                 \
        return sum;                                                                                                    \
    }                                                                                                                  \
    attribute __attribute__((noinline)) static void triad_##suffix(double *restrict a, const double *restrict b,       \
                                                                   const double *restrict c, int64_t n, double s)      \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                                                \
            a[i] = b[i] + s * c[i];                                                                                    \
    }

KERNELS(plain, , 16)
#if defined(__x86_64__)
KERNELS(avx2, __attribute__((target("avx2,fma"))), 32)
KERNELS(avx512, __attribute__((target("avx512f"))), 64)
#endif

static const struct kernels {
    double (*multiply)(double start);
    void (*triad)(double *restrict a, const double *restrict b, const double *restrict c, int64_t n, double s);
    int lanes;
} plain = {multiply_plain, triad_plain, 2};

static const struct kernels *best_kernels(void)
{
#if defined(__x86_64__)
    static const struct kernels avx2 = {multiply_avx2, triad_avx2, 4}, avx512 = {multiply_avx512, triad_avx512, 8};
    if (__builtin_cpu_supports("avx512f"))
        return &avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &avx2;
#endif
    return &plain;
}

struct run {
    const struct kernels *kernels;
    int64_t elements; /* of an array of each thread; 0: operations are measured */
    double seconds;
    clockid_t clock;      /* one thread is measured by its CPU time, whatever else runs */
    atomic_int ready, go; /* go: 1 start, -1 give up */
    atomic_int failed;
};

struct worker {
    struct run *run;
    pthread_t thread;
    double per_second;
};

static double now_s(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Do one pass, which takes some microseconds at least, and return its operations or bytes. */
static double pass(const struct run *run, double *arrays)
{
    const struct kernels *kernels = run->kernels;
    int64_t n = run->elements, repeats = 1;
    if (n == 0) {
        volatile double sum = kernels->multiply(1.0);
        (void)sum;
        return 2.0 * CHAINS * TURNS * kernels->lanes;
    }
    for (int64_t bytes = 24 * n; bytes * repeats < LEAST_PASS;)
        repeats *= 2;
    for (int64_t i = 0; i < repeats; i++) {
        kernels->triad(arrays, arrays + n, arrays + 2 * n, n, 0.5);
        __asm__ volatile("" : : "r"(arrays) : "memory");
    }
    return 24.0 * (double)n * (double)repeats;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct run *run = worker->run;
    double *arrays = NULL, done = 0, start, end;
    int64_t n = 3 * run->elements;
    if (n > 0 && posix_memalign((void **)&arrays, ALIGNMENT, (size_t)n * sizeof *arrays) != 0) {
        arrays = NULL;
        atomic_store(&run->failed, ENOMEM);
    }
    for (int64_t i = 0; arrays != NULL && i < n; i++)
        arrays[i] = 1.0; /* by this thread: its pages are on its node */
    if (arrays != NULL || n == 0)
        pass(run, arrays);
    atomic_fetch_add(&run->ready, 1);
    while (atomic_load(&run->go) == 0)
        sched_yield();
    if (atomic_load(&run->go) > 0 && atomic_load(&run->failed) == 0) {
        start = now_s(run->clock);
        do {
            done += pass(run, arrays);
            end = now_s(run->clock);
        } while (end - start < run->seconds);
        worker->per_second = done / (end - start);
    }
    free(arrays);
    return NULL;
}

/* Measure operations, or the traffic of a triad with so many bytes in the arrays of each thread, per second, of all
 * threads together. Returns 0, or an error number. */
int incprof_roof(int is_triad, int64_t bytes, int threads, double seconds, double *per_second)
{
    struct run run = {.kernels = best_kernels(),
                      .elements = is_triad ? bytes / 24 / 8 * 8 : 0,
                      .seconds = seconds,
                      .clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC};
    *per_second = 0;
    if (threads < 1 || threads > MOST_THREADS || (is_triad && run.elements < 8) || !(seconds > 0))
        return EINVAL;
    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    if (workers == NULL)
        return ENOMEM;
    int error = 0, count = 0;
    for (; count < threads && error == 0; count += error == 0) {
        workers[count].run = &run;
        error = pthread_create(&workers[count].thread, NULL, work, &workers[count]);
    }
    while (atomic_load(&run.ready) < count)
        sched_yield();
    atomic_store(&run.go, error == 0 ? 1 : -1);
    for (int i = 0; i < count; i++) {
        pthread_join(workers[i].thread, NULL);
        *per_second += workers[i].per_second;
    }
    free(workers);
    return error != 0 ? error : atomic_load(&run.failed);
}
