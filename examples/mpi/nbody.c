/* Gravity between all pairs of particles, each step one MPI_Allgather of all positions.
 *
 *   mpirun -n 4 nbody PARTICLES STEPS
 *
 * Each rank moves its part of the particles (leapfrog). A force is the sum over all particles in one order, so the
 * orbits do not depend on the number of ranks. Verified: momentum, angular momentum and energy are kept. */
#include <mpi.h>
#include <string.h>

#include "report.h"

#define USAGE "PARTICLES STEPS"

static const double softening = 0.05, time_step = 1e-4;
static int particles, own, all, first; /* all: with particles of no mass, so that each rank has as many */
static double *x, *v, *a, *everybody, *mass;

static void *numbers(int count)
{
    void *room = calloc((size_t)count, sizeof(double));
    if (room == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return room;
}

/* The next number between -1 and 1. */
static double drawn(unsigned long long *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 11) / 4503599627370496.0 - 1.0;
}

static void accelerate(void)
{
    for (int i = 0; i < own; i++) {
        double sum[3] = {0, 0, 0};
        const double *here = &x[3 * i];
        for (int j = 0; j < all; j++) {
            double dx = everybody[3 * j] - here[0], dy = everybody[3 * j + 1] - here[1];
            double dz = everybody[3 * j + 2] - here[2];
            double square = dx * dx + dy * dy + dz * dz + softening * softening;
            double pull = mass[j] / (square * sqrt(square));
            sum[0] += pull * dx, sum[1] += pull * dy, sum[2] += pull * dz;
        }
        memcpy(&a[3 * i], sum, sizeof sum);
    }
}

/* Momentum (3), angular momentum (3), energy, and the scale of each: sums of absolute values. */
static void conserved(double *sums)
{
    double mine[10] = {0};
    for (int i = 0; i < own; i++) {
        const double *r = &x[3 * i], *w = &v[3 * i];
        double m = mass[first + i], potential = 0;
        for (int j = 0; j < all; j++) {
            double dx = everybody[3 * j] - r[0], dy = everybody[3 * j + 1] - r[1], dz = everybody[3 * j + 2] - r[2];
            if (j != first + i)
                potential -= 0.5 * mass[j] / sqrt(dx * dx + dy * dy + dz * dz + softening * softening);
        }
        for (int d = 0; d < 3; d++) {
            int e = (d + 1) % 3, f = (d + 2) % 3;
            mine[d] += m * w[d];
            mine[3 + d] += m * (r[e] * w[f] - r[f] * w[e]);
            mine[6] += m * 0.5 * w[d] * w[d];
            mine[7] += m * fabs(w[d]);
            mine[8] += m * (fabs(r[e] * w[f]) + fabs(r[f] * w[e]));
        }
        mine[6] += m * potential;
        mine[9] -= m * potential;
    }
    MPI_Allreduce(mine, sums, 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void set_up(int ranks, int rank)
{
    own = (particles + ranks - 1) / ranks;
    all = own * ranks, first = own * rank;
    x = numbers(3 * own), v = numbers(3 * own), a = numbers(3 * own);
    everybody = numbers(3 * all), mass = numbers(all);
    unsigned long long state = 4711;
    for (int j = 0; j < particles; j++) {
        mass[j] = (1.5 + 0.5 * drawn(&state)) / particles;
        for (int d = 0; d < 3; d++) {
            double place = drawn(&state), speed = 0.5 * drawn(&state);
            if (j >= first && j < first + own)
                x[3 * (j - first) + d] = place, v[3 * (j - first) + d] = speed;
        }
    }
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    particles = positive(argc == 3 ? argc : 0, argv, 1, USAGE);
    int steps = positive(argc, argv, 2, USAGE);
    if (particles > 10000000) {
        if (rank == 0)
            fprintf(stderr, "nbody: at most 10000000 particles\n");
        MPI_Finalize();
        return 2;
    }
    set_up(ranks, rank);
    double before[10], after[10];
    MPI_Allgather(x, 3 * own, MPI_DOUBLE, everybody, 3 * own, MPI_DOUBLE, MPI_COMM_WORLD);
    conserved(before);
    accelerate();
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < 3 * own; i++) {
            v[i] += 0.5 * time_step * a[i];
            x[i] += time_step * v[i];
        }
        MPI_Allgather(x, 3 * own, MPI_DOUBLE, everybody, 3 * own, MPI_DOUBLE, MPI_COMM_WORLD);
        accelerate();
        for (int i = 0; i < 3 * own; i++)
            v[i] += 0.5 * time_step * a[i];
    }
    conserved(after);
    double error = fabs(after[6] - before[6]) / before[9] * 1e-3; /* leapfrog keeps energy only nearly */
    for (int d = 0; d < 6; d++) {
        double off = fabs(after[d] - before[d]) / after[d < 3 ? 7 : 8];
        error = off <= error ? error : off;
    }
    double checksum = 0, mine = 0;
    for (int i = 0; i < own; i++)
        mine += mass[first + i] * (x[3 * i] * x[3 * i] + x[3 * i + 1] * x[3 * i + 1] + x[3 * i + 2] * x[3 * i + 2]);
    MPI_Allreduce(&mine, &checksum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    int status = report("nbody", checksum, error, 1e-9);
    MPI_Finalize();
    return status;
}
