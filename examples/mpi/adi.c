/* Alternating directions on a multi-partition, with the communication of NPB's BT and SP.
 *
 *   mpirun -n 4 adi bt|sp POINTS STEPS      POINTS along each side of a cube; a square number of ranks
 *
 * The cube is cut into q x q x q cells, and each of the q x q ranks has q of them on a diagonal: one in every layer of
 * each direction. A line sweep visits the layers in turn, so that all ranks compute all the time, and each passes the
 * state of its lines to the owner of the next layer: always the same neighbour. A step exchanges the faces of all cells
 * and then solves along x, y and z, forward and backward. It has no collective call.
 *
 *   bt: systems of 5 x 5 blocks, tridiagonal: much work for each point
 *   sp: 5 scalar systems, pentadiagonal: little work, shorter steps
 *
 * The equation is diffusion of five quantities with a source, in delta form. All of it has one discrete sine mode, whose
 * amplitudes have a recurrence of five numbers: the result is compared with that at every point. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define USAGE "bt|sp POINTS STEPS"

enum { QUANTITIES = 5, BLOCK = QUANTITIES * QUANTITIES, HALO = 2 };

/* Numbers of a line that the next cell needs, forward and backward. */
enum { BT_FORWARD = BLOCK + QUANTITIES, BT_BACKWARD = QUANTITIES };
enum { SP_FORWARD = 2 * 3 * QUANTITIES, SP_BACKWARD = 2 * QUANTITIES };

struct cell {
    int at[3];      /* which layer, in each direction */
    int points[3];  /* along each direction, without the halo */
    int before[3];  /* points of the cube before its first one */
    long stride[3]; /* from a point to the next one */
    long inside;    /* index of its first point */
    double *u;      /* 5 for each point */
    double *rhs;    /* 5 for each point: right-hand side, then change */
    double *upper;  /* what elimination leaves above the diagonal: 25 (bt) or 10 (sp) for each point */
};

static int bt, points, steps, side, rank;
static struct cell *cells;
static struct cell **layers[3]; /* own cell of each layer, by direction */
static int next[3], previous[3];
static double *sine;
static double coupling[3][BLOCK], source[QUANTITIES];
static double *face_out[6], *face_in[6], *line_out, *line_in;
static int face_numbers, line_numbers; /* that the buffers hold */
static const double dissipation = 0.02;

static void *numbers(size_t count)
{
    void *all = calloc(count ? count : 1, sizeof(double));
    if (all == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return all;
}

static int start_of(int layer) { return (int)((long)points * layer / side); }

static int owner(int column, int row) { return (column + side) % side * side + (row + side) % side; }

static void set_up(void)
{
    int column = rank / side, row = rank % side;
    for (int d = 0; d < 3; d++)
        layers[d] = calloc((size_t)side, sizeof *layers[d]);
    cells = calloc((size_t)side, sizeof *cells);
    long most = 0;
    for (int c = 0; c < side; c++) {
        struct cell *cell = &cells[c];
        int at[3] = {(column + c) % side, (row + c) % side, c};
        long all = 1, inside = 0;
        for (int d = 0; d < 3; d++) {
            cell->at[d] = at[d];
            cell->before[d] = start_of(at[d]);
            cell->points[d] = start_of(at[d] + 1) - cell->before[d];
            cell->stride[d] = all;
            inside += HALO * all;
            all *= cell->points[d] + 2 * HALO;
            layers[d][at[d]] = cell;
        }
        cell->inside = inside;
        cell->u = numbers((size_t)all * QUANTITIES);
        cell->rhs = numbers((size_t)all * QUANTITIES);
        cell->upper = numbers((size_t)all * (bt ? BLOCK : 2 * QUANTITIES));
        for (int d = 0; d < 3; d++) {
            long across = (long)cell->points[(d + 1) % 3] * cell->points[(d + 2) % 3];
            most = across > most ? across : most;
        }
    }
    previous[0] = owner(column - 1, row), next[0] = owner(column + 1, row);
    previous[1] = owner(column, row - 1), next[1] = owner(column, row + 1);
    previous[2] = owner(column + 1, row + 1), next[2] = owner(column - 1, row - 1);
    face_numbers = (int)(most * side * HALO * QUANTITIES);
    line_numbers = (int)(most * (bt ? BT_FORWARD : SP_FORWARD));
    for (int face = 0; face < 6; face++) {
        face_out[face] = numbers((size_t)face_numbers);
        face_in[face] = numbers((size_t)face_numbers);
    }
    line_out = numbers((size_t)line_numbers);
    line_in = numbers((size_t)line_numbers);

    sine = numbers((size_t)points + 2);
    for (int i = 1; i <= points; i++)
        sine[i] = sin(acos(-1.0) * i / (points + 1));
    for (int m = 0; m < QUANTITIES; m++) {
        source[m] = 0.01 * (m + 1);
        for (int n = 0; n < QUANTITIES; n++)
            for (int d = 0; d < 3; d++)
                coupling[d][m * QUANTITIES + n] = m == n ? 1.0 + 0.1 * m : bt ? 0.1 / (1 + d + abs(m - n)) : 0.0;
    }
}

static double mode(const struct cell *cell, int i, int j, int k)
{
    return sine[cell->before[0] + i + 1] * sine[cell->before[1] + j + 1] * sine[cell->before[2] + k + 1];
}

static long index_of(const struct cell *cell, int i, int j, int k)
{
    return cell->inside + i * cell->stride[0] + j * cell->stride[1] + k * cell->stride[2];
}

/* --- Faces --- */

/* Copy `HALO` layers of a cell from index `from` along d to a buffer, or back; return the end of what was copied. */
static double *copy_layers(struct cell *cell, int d, int from, double *buffer, int pack)
{
    int e = (d + 1) % 3, f = (d + 2) % 3;
    for (int layer = from; layer < from + HALO; layer++)
        for (int b = 0; b < cell->points[f]; b++)
            for (int a = 0; a < cell->points[e]; a++) {
                long p = cell->inside + layer * cell->stride[d] + a * cell->stride[e] + b * cell->stride[f];
                if (pack)
                    memcpy(buffer, &cell->u[p * QUANTITIES], QUANTITIES * sizeof *buffer);
                else
                    memcpy(&cell->u[p * QUANTITIES], buffer, QUANTITIES * sizeof *buffer);
                buffer += QUANTITIES;
            }
    return buffer;
}

/* Zero at the border of the cube, and the values inside mirrored with the opposite sign behind it. */
static void mirror(struct cell *cell, int d, int border, int inward)
{
    int e = (d + 1) % 3, f = (d + 2) % 3;
    for (int b = 0; b < cell->points[f]; b++)
        for (int a = 0; a < cell->points[e]; a++) {
            long p = cell->inside + border * cell->stride[d] + a * cell->stride[e] + b * cell->stride[f];
            long in = p + inward * cell->stride[d], out = p - inward * cell->stride[d];
            for (int m = 0; m < QUANTITIES; m++) {
                cell->u[p * QUANTITIES + m] = 0;
                cell->u[out * QUANTITIES + m] = -cell->u[in * QUANTITIES + m];
            }
        }
}

static void copy_faces(void)
{
    MPI_Request requests[12];
    for (int d = 0; d < 3; d++) {
        mirror(layers[d][0], d, -1, 1);
        mirror(layers[d][side - 1], d, layers[d][side - 1]->points[d], -1);
    }
    if (side == 1)
        return;
    for (int d = 0; d < 3; d++) {
        MPI_Irecv(face_in[2 * d], face_numbers, MPI_DOUBLE, previous[d], 2 * d, MPI_COMM_WORLD, &requests[2 * d]);
        MPI_Irecv(face_in[2 * d + 1], face_numbers, MPI_DOUBLE, next[d], 2 * d + 1, MPI_COMM_WORLD,
                  &requests[2 * d + 1]);
    }
    for (int d = 0; d < 3; d++) {
        double *up = face_out[2 * d], *down = face_out[2 * d + 1];
        for (int layer = 0; layer + 1 < side; layer++) {
            up = copy_layers(layers[d][layer], d, layers[d][layer]->points[d] - HALO, up, 1);
            down = copy_layers(layers[d][layer + 1], d, 0, down, 1);
        }
        MPI_Isend(face_out[2 * d], (int)(up - face_out[2 * d]), MPI_DOUBLE, next[d], 2 * d, MPI_COMM_WORLD,
                  &requests[6 + 2 * d]);
        MPI_Isend(face_out[2 * d + 1], (int)(down - face_out[2 * d + 1]), MPI_DOUBLE, previous[d], 2 * d + 1,
                  MPI_COMM_WORLD, &requests[7 + 2 * d]);
    }
    MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
    for (int d = 0; d < 3; d++) {
        double *up = face_in[2 * d], *down = face_in[2 * d + 1];
        for (int layer = 0; layer + 1 < side; layer++) {
            up = copy_layers(layers[d][layer + 1], d, -HALO, up, 0);
            down = copy_layers(layers[d][layer], d, layers[d][layer]->points[d], down, 0);
        }
    }
}

static void compute_rhs(void)
{
    for (int c = 0; c < side; c++) {
        struct cell *cell = &cells[c];
        for (int k = 0; k < cell->points[2]; k++)
            for (int j = 0; j < cell->points[1]; j++)
                for (int i = 0; i < cell->points[0]; i++) {
                    long p = index_of(cell, i, j, k);
                    double at = mode(cell, i, j, k), sum[QUANTITIES];
                    for (int m = 0; m < QUANTITIES; m++)
                        sum[m] = source[m] * at;
                    for (int d = 0; d < 3; d++) {
                        long s = cell->stride[d] * QUANTITIES;
                        double second[QUANTITIES];
                        for (int m = 0; m < QUANTITIES; m++) {
                            const double *u = &cell->u[p * QUANTITIES + m];
                            second[m] = u[s] - 2 * u[0] + u[-s];
                            sum[m] -= dissipation * (u[2 * s] - 4 * u[s] + 6 * u[0] - 4 * u[-s] + u[-2 * s]);
                        }
                        for (int m = 0; m < QUANTITIES; m++)
                            if (bt)
                                for (int n = 0; n < QUANTITIES; n++)
                                    sum[m] += coupling[d][m * QUANTITIES + n] * second[n];
                            else
                                sum[m] += coupling[d][m * (QUANTITIES + 1)] * second[m];
                    }
                    memcpy(&cell->rhs[p * QUANTITIES], sum, sizeof sum);
                }
    }
}

/* --- Lines --- */

/* Solve a system of 5 equations for so many right-hand sides (each row has them side by side), in place. */
static void solve_block(double *matrix, double *right, int count)
{
    for (int pivot = 0; pivot < QUANTITIES; pivot++) {
        double scale = 1 / matrix[pivot * QUANTITIES + pivot];
        for (int n = pivot + 1; n < QUANTITIES; n++)
            matrix[pivot * QUANTITIES + n] *= scale;
        for (int n = 0; n < count; n++)
            right[pivot * count + n] *= scale;
        for (int m = 0; m < QUANTITIES; m++) {
            double factor = matrix[m * QUANTITIES + pivot];
            if (m == pivot)
                continue;
            for (int n = pivot + 1; n < QUANTITIES; n++)
                matrix[m * QUANTITIES + n] -= factor * matrix[pivot * QUANTITIES + n];
            for (int n = 0; n < count; n++)
                right[m * count + n] -= factor * right[pivot * count + n];
        }
    }
}

/* Eliminate along a line of 5 x 5 blocks. state: what is above the diagonal, and the right-hand side, of the point before. */
static void bt_eliminate(struct cell *cell, int d, long p, double *state)
{
    const double *k = coupling[d];
    for (int i = 0; i < cell->points[d]; i++, p += cell->stride[d]) {
        double *rhs = &cell->rhs[p * QUANTITIES], *upper = &cell->upper[p * BLOCK];
        double diagonal[BLOCK], right[QUANTITIES * (QUANTITIES + 1)];
        for (int m = 0; m < QUANTITIES; m++) {
            double *row = &right[m * (QUANTITIES + 1)];
            for (int n = 0; n < QUANTITIES; n++) {
                double sum = (m == n) + 2 * k[m * QUANTITIES + n];
                for (int o = 0; o < QUANTITIES; o++)
                    sum += k[m * QUANTITIES + o] * state[o * QUANTITIES + n];
                diagonal[m * QUANTITIES + n] = sum;
                row[n] = -k[m * QUANTITIES + n];
            }
            row[QUANTITIES] = rhs[m];
            for (int o = 0; o < QUANTITIES; o++)
                row[QUANTITIES] += k[m * QUANTITIES + o] * state[BLOCK + o];
        }
        solve_block(diagonal, right, QUANTITIES + 1);
        for (int m = 0; m < QUANTITIES; m++) {
            memcpy(&upper[m * QUANTITIES], &right[m * (QUANTITIES + 1)], QUANTITIES * sizeof *upper);
            rhs[m] = right[m * (QUANTITIES + 1) + QUANTITIES];
        }
        memcpy(state, upper, BLOCK * sizeof *upper);
        memcpy(state + BLOCK, rhs, QUANTITIES * sizeof *rhs);
    }
}

static void bt_substitute(struct cell *cell, int d, long p, double *state)
{
    for (int i = 0; i < cell->points[d]; i++, p -= cell->stride[d]) {
        double *rhs = &cell->rhs[p * QUANTITIES], *upper = &cell->upper[p * BLOCK];
        for (int m = 0; m < QUANTITIES; m++)
            for (int n = 0; n < QUANTITIES; n++)
                rhs[m] -= upper[m * QUANTITIES + n] * state[n];
        memcpy(state, rhs, QUANTITIES * sizeof *rhs);
    }
}

/* Eliminate along a line of five pentadiagonal systems. state: for each quantity what is above the diagonal (2) and the
 * right-hand side of the point before, then those of the point before that. */
static void sp_eliminate(struct cell *cell, int d, long p, double *state)
{
    for (int i = 0; i < cell->points[d]; i++, p += cell->stride[d]) {
        int at = cell->before[d] + i;
        double centre = at == 0 || at == points - 1 ? 5 : 6;
        for (int m = 0; m < QUANTITIES; m++) {
            double *one = &state[3 * m], *two = &state[3 * (QUANTITIES + m)];
            double *rhs = &cell->rhs[p * QUANTITIES + m], *upper = &cell->upper[(p * QUANTITIES + m) * 2];
            double a = coupling[d][m * (QUANTITIES + 1)];
            double beside = -a - 4 * dissipation, far = dissipation;
            double lower = beside - far * two[0];
            double diagonal = 1 + 2 * a + centre * dissipation - far * two[1] - lower * one[0];
            double scale = 1 / diagonal;
            upper[0] = (beside - lower * one[1]) * scale;
            upper[1] = far * scale;
            *rhs = (*rhs - far * two[2] - lower * one[2]) * scale;
            memcpy(two, one, 3 * sizeof *one);
            one[0] = upper[0], one[1] = upper[1], one[2] = *rhs;
        }
    }
}

static void sp_substitute(struct cell *cell, int d, long p, double *state)
{
    for (int i = 0; i < cell->points[d]; i++, p -= cell->stride[d])
        for (int m = 0; m < QUANTITIES; m++) {
            double *rhs = &cell->rhs[p * QUANTITIES + m], *upper = &cell->upper[(p * QUANTITIES + m) * 2];
            *rhs -= upper[0] * state[m] + upper[1] * state[QUANTITIES + m];
            state[QUANTITIES + m] = state[m];
            state[m] = *rhs;
        }
}

/* Take all lines of a cell through one direction; return how many numbers the next cell gets. */
static int lines(struct cell *cell, int d, int backward, int is_first)
{
    int e = (d + 1) % 3, f = (d + 2) % 3;
    int size = bt ? (backward ? BT_BACKWARD : BT_FORWARD) : (backward ? SP_BACKWARD : SP_FORWARD);
    long begin = backward ? (cell->points[d] - 1) * cell->stride[d] : 0;
    double *state = line_out, *before = line_in;
    for (int b = 0; b < cell->points[f]; b++)
        for (int a = 0; a < cell->points[e]; a++, state += size, before += size) {
            long p = cell->inside + begin + a * cell->stride[e] + b * cell->stride[f];
            if (is_first)
                memset(state, 0, (size_t)size * sizeof *state);
            else
                memcpy(state, before, (size_t)size * sizeof *state);
            if (bt)
                (backward ? bt_substitute : bt_eliminate)(cell, d, p, state);
            else
                (backward ? sp_substitute : sp_eliminate)(cell, d, p, state);
        }
    return (int)(state - line_out);
}

/* Solve along one direction: forward through the layers, then backward. */
static void solve(int d, int backward)
{
    int from = backward ? next[d] : previous[d], to = backward ? previous[d] : next[d], tag = 10 + 2 * d + backward;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (int stage = 0; stage < side; stage++) {
        struct cell *cell = layers[d][backward ? side - 1 - stage : stage];
        if (stage > 0) {
            MPI_Irecv(line_in, line_numbers, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, &requests[1]);
            if (bt) {
                MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
                MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            } else {
                MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            }
        }
        int count = lines(cell, d, backward, stage == 0);
        if (stage + 1 < side)
            MPI_Isend(line_out, count, MPI_DOUBLE, to, tag, MPI_COMM_WORLD, &requests[0]);
    }
}

static void add(void)
{
    for (int c = 0; c < side; c++)
        for (int k = 0; k < cells[c].points[2]; k++)
            for (int j = 0; j < cells[c].points[1]; j++) {
                long p = index_of(&cells[c], 0, j, k) * QUANTITIES;
                for (int i = 0; i < cells[c].points[0] * QUANTITIES; i++)
                    cells[c].u[p + i] += cells[c].rhs[p + i];
            }
}

/* Amplitudes of the sine mode after all steps, from those at the beginning: the truth. */
static void expected(double *amplitude)
{
    double half = sin(acos(-1.0) / 2 / (points + 1)), lambda = 4 * half * half;
    for (int step = 0; step < steps; step++) {
        double change[QUANTITIES], matrix[BLOCK];
        for (int m = 0; m < QUANTITIES; m++) {
            change[m] = source[m] - 3 * dissipation * lambda * lambda * amplitude[m];
            for (int d = 0; d < 3; d++)
                for (int n = 0; n < QUANTITIES; n++)
                    change[m] -= lambda * coupling[d][m * QUANTITIES + n] * amplitude[n];
        }
        for (int d = 0; d < 3; d++) {
            for (int m = 0; m < QUANTITIES; m++)
                for (int n = 0; n < QUANTITIES; n++)
                    matrix[m * QUANTITIES + n] = lambda * coupling[d][m * QUANTITIES + n] +
                                                 (m == n ? 1 + (bt ? 0 : dissipation * lambda * lambda) : 0);
            solve_block(matrix, change, 1);
        }
        for (int m = 0; m < QUANTITIES; m++)
            amplitude[m] += change[m];
    }
}

static int verify(void)
{
    double amplitude[QUANTITIES], mine[2] = {0, 0}, checksum, error, squares = 0;
    for (int m = 0; m < QUANTITIES; m++)
        amplitude[m] = 1.0 / (m + 1);
    expected(amplitude);
    for (int c = 0; c < side; c++)
        for (int k = 0; k < cells[c].points[2]; k++)
            for (int j = 0; j < cells[c].points[1]; j++)
                for (int i = 0; i < cells[c].points[0]; i++)
                    for (int m = 0; m < QUANTITIES; m++) {
                        double u = cells[c].u[index_of(&cells[c], i, j, k) * QUANTITIES + m];
                        double off = fabs(u - amplitude[m] * mode(&cells[c], i, j, k)) / fabs(amplitude[m]);
                        mine[0] += u * u;
                        mine[1] = off <= mine[1] ? mine[1] : off; /* keeps a NaN */
                    }
    MPI_Allreduce(&mine[0], &checksum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&mine[1], &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int m = 0; m < QUANTITIES; m++)
        squares += amplitude[m] * amplitude[m];
    double off = fabs(checksum / (squares * pow((points + 1) / 2.0, 3)) - 1);
    return report(bt ? "adi bt" : "adi sp", checksum, off <= error ? error : off, 1e-9);
}

int main(int argc, char **argv)
{
    int ranks, arguments[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int named = argc == 4 && (strcmp(argv[1], "bt") == 0 || strcmp(argv[1], "sp") == 0);
    arguments[0] = named && argv[1][0] == 'b';
    arguments[1] = positive(named ? argc : 0, argv, 2, USAGE);
    arguments[2] = positive(argc, argv, 3, USAGE);
    MPI_Bcast(arguments, 3, MPI_INT, 0, MPI_COMM_WORLD);
    bt = arguments[0], points = arguments[1], steps = arguments[2];
    while ((side + 1) * (side + 1) <= ranks)
        side++;
    if (side * side != ranks || points < HALO * side) {
        if (rank == 0)
            fprintf(stderr, "adi: needs a square number of ranks, and %d points a side for each layer\n", HALO);
        MPI_Finalize();
        return 2;
    }
    set_up();
    for (int c = 0; c < side; c++)
        for (int k = 0; k < cells[c].points[2]; k++)
            for (int j = 0; j < cells[c].points[1]; j++)
                for (int i = 0; i < cells[c].points[0]; i++)
                    for (int m = 0; m < QUANTITIES; m++)
                        cells[c].u[index_of(&cells[c], i, j, k) * QUANTITIES + m] = mode(&cells[c], i, j, k) / (m + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int step = 0; step < steps; step++) {
        copy_faces();
        compute_rhs();
        for (int d = 0; d < 3; d++) {
            solve(d, 0);
            solve(d, 1);
        }
        add();
    }
    int status = verify();
    MPI_Finalize();
    return status;
}
