/* An outer loop with a region of each kind in it and an inner loop of one region. Prints how often each went round.
 * argv: outer and inner iterations, odd: every so many outer iterations there is a region more (0: never). Below robust_hold,
 * there are as many more outer iterations as it takes until a thread is held. */
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static double data[512];

static void first(void)
{
#pragma omp parallel for
    for (int i = 0; i < 512; i++)
        data[i] += i;
}

static void second(void)
{
#pragma omp parallel for schedule(dynamic, 64)
    for (int i = 0; i < 512; i++)
        data[i] *= 0.5;
}

static void third(void)
{
#pragma omp parallel for schedule(guided) reduction(+ : data[:4])
    for (int i = 0; i < 512; i++)
        data[i % 4] += 1;
}

static void fourth(void)
{
#pragma omp parallel sections
    {
#pragma omp section
        data[0] += 1;
#pragma omp section
        data[1] += 1;
    }
}

static void fifth(void)
{
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < 512; i++)
        data[i] -= 1;
}

/* More variables than fit into registers. */
static void inner(int a, int b, int c, int d, int e, int f, int g, int h)
{
    int sum = 0;
#pragma omp parallel firstprivate(a, b, c, d, e, f, g, h) reduction(+ : sum)
    sum += a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
    if (sum % 204 != 0 || sum == 0)
        abort();
}

static void odd(void)
{
#pragma omp parallel
    data[omp_get_thread_num()] += 1;
}

static bool waits_for_hold(void)
{
    char path[4096];
    const char *prefix = getenv("HOLD_FILES");
    if (prefix == NULL)
        return false;
    snprintf(path, sizeof path, "%s.ready", prefix);
    fclose(fopen(path, "a"));
    snprintf(path, sizeof path, "%s.held", prefix);
    return access(path, F_OK) != 0;
}

int main(int count, char **words)
{
    int outer = atoi(words[1]), rounds = atoi(words[2]), every = count > 3 ? atoi(words[3]) : 0, i = 0;
    for (; i < outer || (i < 1000000 && waits_for_hold()); i++) {
        first();
        second();
        third();
        fourth();
        fifth();
        for (int j = 0; j < rounds; j++)
            inner(1, 2, 3, 4, 5, 6, 7, 8);
        if (every > 0 && i % every == every - 1)
            odd();
    }
    printf("outer %d\ninner %d\n", i, i * rounds);
    return 7;
}
