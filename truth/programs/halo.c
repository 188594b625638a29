/* Heat in a plate that is cut into slabs, one per rank. Every step exchanges borders, smooths and agrees on the change;
 * then rank 0 alone works out a report, for which the others wait. */
#include "truth_log.h"
#include <math.h>
#include <mpi.h>
#include <string.h>

enum { ROWS = 1600, COLUMNS = 800 };

static double plate[ROWS + 2][COLUMNS], next[ROWS + 2][COLUMNS];
static int rank, ranks;

KEPT static void exchange_borders(void)
{
    int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(plate[1], COLUMNS, MPI_DOUBLE, up, 0, plate[ROWS + 1], COLUMNS, MPI_DOUBLE, down, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(plate[ROWS], COLUMNS, MPI_DOUBLE, down, 1, plate[0], COLUMNS, MPI_DOUBLE, up, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

KEPT static double smooth(void)
{
    double change = 0;
    for (int i = 1; i <= ROWS; i++)
        for (int j = 1; j < COLUMNS - 1; j++) {
            next[i][j] = 0.25 * (plate[i - 1][j] + plate[i + 1][j] + plate[i][j - 1] + plate[i][j + 1]);
            change += fabs(next[i][j] - plate[i][j]);
        }
    memcpy(plate[1], next[1], ROWS * sizeof *plate);
    return change;
}

KEPT static double agree(double change)
{
    double total;
    MPI_Allreduce(&change, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return total;
}

/* The flow across lines in many directions: rank 0 computes, the others wait for what it says. */
KEPT static double report_flow(int direction)
{
    double flow = 0;
    if (rank == 0)
        for (int i = 1; i <= ROWS; i++)
            for (int j = 1; j < COLUMNS - 1; j++)
                flow += atan2(plate[i][j + 1] - plate[i][j - 1], 1e-3 + plate[i + 1][j] - plate[i - 1][j] + direction);
    MPI_Bcast(&flow, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return flow;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    truth_rank(rank);
    double scale = scale_argument(argc, argv), change = 0, flow = 0;
    for (int i = 0; i < ROWS + 2; i++)
        for (int j = 0; j < COLUMNS; j++)
            plate[i][j] = next[i][j] = j == 0 ? 100 : j == COLUMNS - 1 ? rank * 10 : sin(0.01 * i * j);
    truth_phase("steps");
    for (int step = 0; step < 1 + (int)(350 * scale); step++) {
        exchange_borders();
        change = agree(smooth());
    }
    truth_phase("report");
    for (int direction = 0; direction < 1 + (int)(80 * scale); direction++)
        flow += report_flow(direction);
    truth_end();
    if (rank == 0)
        printf("halo: last change %.6f, flow %.3f\n", change, flow);
    MPI_Finalize();
    return 0;
}
