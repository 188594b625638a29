/* A master hands out pieces of an integral, each to the worker that answers next (MPI_ANY_SOURCE).
 *
 *   mpirun -n 4 workers POINTS TASKS      POINTS of a task on average: from half of it to one and a half
 *
 * Which worker gets which task differs from run to run. The sum is made in the order of tasks: it does not depend on
 * that, nor on the number of ranks. A single rank does all of it by itself. Verified: the integral is pi. */
#include <mpi.h>

#include "report.h"

#define USAGE "POINTS TASKS"

enum { WORK = 1, RESULT = 2 };

/* Integrate 4 / (1 + x^2) over the part of a task of [0, 1]. */
static double piece(int points, int tasks, int task)
{
    int count = points / 2 + (int)((unsigned)task * 2654435761u % (unsigned)points) + 1;
    double width = 1.0 / tasks / count, sum = 0;
    for (int i = 0; i < count; i++) {
        double x = (double)task / tasks + (i + 0.5) * width;
        sum += 4.0 / (1.0 + x * x);
    }
    return sum * width;
}

static void work(int points, int tasks)
{
    int task;
    for (;;) {
        MPI_Recv(&task, 1, MPI_INT, 0, WORK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (task < 0)
            return;
        double result[2] = {task, piece(points, tasks, task)};
        MPI_Send(result, 2, MPI_DOUBLE, 0, RESULT, MPI_COMM_WORLD);
    }
}

static void hand_out(int ranks, int tasks, double *results)
{
    int given = 0, none = -1;
    for (int worker = 1; worker < ranks; worker++, given++)
        MPI_Send(given < tasks ? &given : &none, 1, MPI_INT, worker, WORK, MPI_COMM_WORLD);
    for (int done = 0; done < tasks; done++, given++) {
        double result[2];
        MPI_Status status;
        MPI_Recv(result, 2, MPI_DOUBLE, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &status);
        results[(int)result[0]] = result[1];
        MPI_Send(given < tasks ? &given : &none, 1, MPI_INT, status.MPI_SOURCE, WORK, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int points = positive(argc == 3 ? argc : 0, argv, 1, USAGE), tasks = positive(argc, argv, 2, USAGE), status = 0;
    double *results = calloc((size_t)tasks, sizeof *results), sum = 0;
    if (results == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank > 0)
        work(points, tasks);
    else if (ranks > 1)
        hand_out(ranks, tasks, results);
    else
        for (int task = 0; task < tasks; task++)
            results[task] = piece(points, tasks, task);
    for (int task = 0; task < tasks; task++)
        sum += results[task];
    MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    /* The midpoint rule is off by h^2 / 24 times the largest second derivative, which is 8; rounding comes in addition. */
    double width = 2.0 / points / tasks;
    status = report("workers", sum, fabs(sum / acos(-1.0) - 1), width * width / 3 + 1e-9);
    MPI_Finalize();
    return status;
}
