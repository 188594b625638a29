/* Jacobi's iteration by OpenMP's target regions. Output: `steps` (one kernel each) and `wall_ns`. */
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 2048, STEPS = 2000 };

static unsigned long long now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (unsigned long long)at.tv_sec * 1000000000ull + (unsigned long long)at.tv_nsec;
}

static void step(const double *from, double *to)
{
#pragma omp target teams distribute parallel for collapse(2)
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++)
            to[i * N + j] =
                0.25 * (from[(i - 1) * N + j] + from[(i + 1) * N + j] + from[i * N + j - 1] + from[i * N + j + 1]);
}

int main(void)
{
    double *a = calloc(N * N, sizeof *a), *b = calloc(N * N, sizeof *b);
    if (a == NULL || b == NULL || omp_get_num_devices() == 0)
        return 1;
    for (int i = 0; i < N; i++)
        a[i] = b[i] = 1;
    unsigned long long start = now();
#pragma omp target data map(tofrom : a[0 : N * N]) map(tofrom : b[0 : N * N])
    for (int i = 0; i < STEPS; i += 2) {
        step(a, b);
        step(b, a);
    }
    printf("steps %d\nwall_ns %llu\n", STEPS, now() - start);
    return a[N + 1] >= 0 ? 0 : 1;
}
