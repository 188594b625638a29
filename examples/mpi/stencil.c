/* Heat on a square: four halos each step, and the largest change of all ranks by MPI_Allreduce every few steps.
 *
 *   mpirun -n 4 stencil POINTS STEPS [EVERY]      POINTS along each side; EVERY is 10
 *
 * The heat has one sine mode, which a step multiplies by a known factor, and a source of the same shape. */
#include <mpi.h>
#include <string.h>

#include "report.h"

#define USAGE "POINTS STEPS [EVERY]"

static const double flow = 0.2, source = 1e-3;

int main(int argc, char **argv)
{
    int rank, ranks, grid[2] = {0, 0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int points = positive(argc == 3 || argc == 4 ? argc : 0, argv, 1, USAGE), steps = positive(argc, argv, 2, USAGE);
    int every = argc == 4 ? positive(argc, argv, 3, USAGE) : 10;
    MPI_Dims_create(ranks, 2, grid);
    if (points < grid[0] || points > 100000) {
        if (rank == 0)
            fprintf(stderr, "stencil: needs %d to 100000 points a side\n", grid[0]);
        MPI_Finalize();
        return 2;
    }
    int column = rank % grid[1], row = rank / grid[1];
    int west = column > 0 ? rank - 1 : MPI_PROC_NULL, east = column < grid[1] - 1 ? rank + 1 : MPI_PROC_NULL;
    int north = row > 0 ? rank - grid[1] : MPI_PROC_NULL, south = row < grid[0] - 1 ? rank + grid[1] : MPI_PROC_NULL;
    int left = (int)((long)points * column / grid[1]), width = (int)((long)points * (column + 1) / grid[1]) - left;
    int top = (int)((long)points * row / grid[0]), height = (int)((long)points * (row + 1) / grid[0]) - top;
    size_t line = (size_t)width + 2, size = line * ((size_t)height + 2);
    double *now = calloc(size, sizeof *now), *then = calloc(size, sizeof *then);
    double *sine = calloc((size_t)points + 2, sizeof *sine), changed = 0, all = 0;
    if (now == NULL || then == NULL || sine == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 1; i <= points; i++)
        sine[i] = sin(acos(-1.0) * i / (points + 1));
    for (int j = 1; j <= height; j++)
        for (int i = 1; i <= width; i++)
            now[(size_t)j * line + (size_t)i] = sine[left + i] * sine[top + j];
    MPI_Datatype side;
    MPI_Type_vector(height, 1, (int)line, MPI_DOUBLE, &side);
    MPI_Type_commit(&side);
    double half = sin(acos(-1.0) / 2 / (points + 1)), factor = 1 - 8 * flow * half * half, amplitude = 1;
    for (int step = 1; step <= steps; step++) {
        MPI_Request requests[8];
        double *last = now + (size_t)height * line;
        MPI_Irecv(now + line, 1, side, west, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(now + line + width + 1, 1, side, east, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Irecv(now + 1, width, MPI_DOUBLE, north, 3, MPI_COMM_WORLD, &requests[2]);
        MPI_Irecv(last + line + 1, width, MPI_DOUBLE, south, 4, MPI_COMM_WORLD, &requests[3]);
        MPI_Isend(now + line + 1, 1, side, west, 2, MPI_COMM_WORLD, &requests[4]);
        MPI_Isend(now + line + width, 1, side, east, 1, MPI_COMM_WORLD, &requests[5]);
        MPI_Isend(now + line + 1, width, MPI_DOUBLE, north, 4, MPI_COMM_WORLD, &requests[6]);
        MPI_Isend(last + 1, width, MPI_DOUBLE, south, 3, MPI_COMM_WORLD, &requests[7]);
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
        changed = 0;
        for (int j = 1; j <= height; j++)
            for (int i = 1; i <= width; i++) {
                const double *u = &now[(size_t)j * line + (size_t)i];
                double change = flow * (u[-1] + u[1] + u[-(long)line] + u[line] - 4 * u[0]);
                change += source * sine[left + i] * sine[top + j];
                then[(size_t)j * line + (size_t)i] = u[0] + change;
                changed = fabs(change) > changed ? fabs(change) : changed;
            }
        double *swap = now;
        now = then, then = swap;
        amplitude = factor * amplitude + source;
        if (step % every == 0)
            MPI_Allreduce(&changed, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    double mine[2] = {0, 0}, checksum, error;
    for (int j = 1; j <= height; j++)
        for (int i = 1; i <= width; i++) {
            double u = now[(size_t)j * line + (size_t)i];
            double off = fabs(u - amplitude * sine[left + i] * sine[top + j]) / amplitude;
            mine[0] += u * u;
            mine[1] = off <= mine[1] ? mine[1] : off; /* keeps a NaN */
        }
    MPI_Allreduce(&mine[0], &checksum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&mine[1], &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    double off = fabs(checksum / (amplitude * amplitude * (points + 1.0) * (points + 1.0) / 4) - 1);
    int status = report("stencil", checksum, off <= error ? error : off, 1e-9);
    MPI_Finalize();
    return status;
}
