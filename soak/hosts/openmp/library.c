/* A library with parallel regions, whose sums are right only if one run-time makes the team and divides the work. */
#include <stdint.h>

#define MOST 5000

static uint32_t elements[MOST];

static void add_static(int size)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < size; i++)
        elements[i] += 1;
}

static void add_dynamic(int size)
{
#pragma omp parallel for schedule(dynamic, 16)
    for (int i = 0; i < size; i++)
        elements[i] += 2;
}

static void add_guided(int size)
{
#pragma omp parallel for schedule(guided)
    for (int i = 0; i < size; i++)
        elements[i] += 3;
}

static void add_nested(int size)
{
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 2; i++)
#pragma omp parallel for num_threads(2)
        for (int k = i; k < size; k += 2)
            elements[k] += 4;
}

static void add_tasks(int size)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < size; i += 100)
#pragma omp task firstprivate(i)
        for (int k = i; k < size && k < i + 100; k++)
            elements[k] += 5;
}

long team_sum(int way, int rounds, int size)
{
    static void (*const ways[])(int) = {add_static, add_dynamic, add_guided, add_nested, add_tasks};
    long sum = 0;
    for (int i = 0; i < rounds; i++)
        ways[(way + i) % 5](size);
    for (int i = 0; i < MOST; i++) {
        sum += elements[i];
        elements[i] = 0;
    }
    return sum;
}
