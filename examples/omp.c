/* Two phases that alternate three times, in parallel regions (about 10 s; the argument scales that, as in `omp 0.1`):
 *   force   pair_force   compute-bound, called once per pair
 *   update  move_all     streams through memory
 * OMP_NUM_THREADS sets the number of threads; the compiler names the regions compute_forces._omp_fn.0 and so on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BODIES 1024
#define CELLS (1 << 21)

static double position[BODIES], force[BODIES];
static double cells[CELLS], flow[CELLS];

static __attribute__((noinline)) double pair_force(double a, double b)
{
    double d = a - b;
    return d / (0.01 + d * d * sqrt(d * d + 0.1));
}

static void compute_forces(void)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < BODIES; i++) {
        double sum = 0;
        for (int j = 0; j < BODIES; j++)
            sum += pair_force(position[i], position[j]);
        force[i] = sum;
    }
    for (int i = 0; i < BODIES; i++)
        position[i] += 1e-7 * force[i];
}

static void move_all(void)
{
#pragma omp parallel for schedule(static)
    for (int i = 1; i < CELLS - 1; i++)
        flow[i] = 0.5 * cells[i] + 0.25 * (cells[i - 1] + cells[i + 1]);
#pragma omp parallel for schedule(static)
    for (int i = 1; i < CELLS - 1; i++)
        cells[i] = flow[i];
}

int main(int argc, char **argv)
{
    double scale = argc > 1 ? atof(argv[1]) : 1.0;
    for (int i = 0; i < BODIES; i++)
        position[i] = (i * 7919 % BODIES) / (double)BODIES;
    for (int i = 0; i < CELLS; i++)
        cells[i] = i % 97;
    for (int cycle = 0; cycle < 3; cycle++) {
        for (int i = 0; i < (int)(150 * scale); i++)
            compute_forces();
        for (int i = 0; i < (int)(120 * scale); i++)
            move_all();
    }
    double sum = 0;
    for (int i = 0; i < BODIES; i++)
        sum += fabs(position[i]);
    printf("positions %.9f, cell %.6f\n", sum, cells[CELLS / 2]);
    return 0;
}
