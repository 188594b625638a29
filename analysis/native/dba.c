/* One step of DTW barycentre averaging: find the points of each series that the best alignment ties to each point of a
 * pattern.
 *
 * As in dtw.c a vector instruction computes one cell of LANES alignments. The direction from which each cell was
 * reached is stored as a byte, and traced back from the end. Rows are computed in blocks: of long alignments only the
 * last block's directions are stored, and the other blocks are recomputed from the row before them. Cells that cannot
 * lie on the best alignment are skipped, as there.
 */
#include "dtw.h"

#include "native.h"

#include <stdlib.h>
#include <string.h>

enum { FROM_LEFT, FROM_UP, FROM_DIAGONAL };

/* Limit of the stored directions in bytes; beyond it they are recomputed. */
enum { KEPT = 1 << 25 };

NATIVE_API int incprof_dba_step(const double *pattern, int64_t points, const double *values, const int64_t *start,
                                const int64_t *length, int64_t series, double *sums, double *counts, double *distances);

struct work {
    const double *pattern;
    int64_t points, columns, block;
    double *a; /* the pattern, in every lane */
    double *b; /* columns of every lane */
    double limits[LANES];
    struct incprof_reach reach;   /* of the last computed row */
    struct incprof_reach *begins; /* of the row before each block */
    double *row;                  /* the last computed row */
    double *before;               /* the row before each block */
    uint8_t *from;                /* directions of the last computed block */
};

/* Compute the next row of every lane, and each cell's direction: the diagonal wins ties, then the previous row. */
CLONES static void fill_row(double x, const double *restrict b, double *restrict row, uint8_t *restrict from,
                            int64_t first, int64_t end, struct incprof_edge *edge)
{
    double diagonal[LANES], left[LANES];
    for (int l = 0; l < LANES; l++) {
        diagonal[l] = edge->diagonal[l];
        left[l] = edge->left[l];
    }
    for (int64_t j = first; j < end; j++) {
        const double *restrict y = b + j * LANES;
        double *restrict cell = row + j * LANES;
        uint8_t *restrict came = from + j * LANES;
        int64_t directions[LANES];
        EACH_LANE
        for (int l = 0; l < LANES; l++) {
            double up = cell[l], step = x - y[l];
            double best = up < left[l] ? up : left[l];
            int64_t direction = up <= left[l] ? FROM_UP : FROM_LEFT;
            direction = diagonal[l] <= best ? FROM_DIAGONAL : direction;
            best = diagonal[l] < best ? diagonal[l] : best;
            directions[l] = direction;
            left[l] = step * step + best;
            diagonal[l] = up;
            cell[l] = left[l];
        }
        for (int l = 0; l < LANES; l++)
            came[l] = (uint8_t)directions[l];
    }
    for (int l = 0; l < LANES; l++) {
        edge->diagonal[l] = diagonal[l];
        edge->left[l] = left[l];
    }
}

/* Compute the next row as far as any lane may reach. */
static void reach_on(struct work *work, int64_t i, uint8_t *from)
{
    struct incprof_edge edge;
    int64_t end = work->reach.high;
    incprof_begin_row(i, &edge);
    fill_row(work->pattern[i], work->b, work->row, from, work->reach.low, end, &edge);
    while (end < work->columns &&
           !(end > work->reach.high && incprof_beyond(work->row + (end - 1) * LANES, work->limits))) {
        int64_t to = end + BEYOND_REACH < work->columns ? end + BEYOND_REACH : work->columns;
        fill_row(work->pattern[i], work->b, work->row, from, end, to, &edge);
        end = to;
    }
    incprof_narrow(work->row, end, work->limits, &work->reach);
}

/* Compute the rows of a block from the row before it, which is in work->row. */
static void fill_block(struct work *work, int64_t first)
{
    int64_t end = first + work->block < work->points ? first + work->block : work->points;
    for (int64_t i = first; i < end; i++)
        reach_on(work, i, work->from + (i - first) * work->columns * LANES);
}

/* Trace each lane back through a block, from the cell in row[] and column[] to the first one before the block (-1:
 * before the beginning). */
static void walk_block(const struct work *work, int64_t first, int lanes, int64_t *row, int64_t *column, double *sums,
                       double *counts)
{
    for (int l = 0; l < lanes; l++) {
        int64_t i = row[l], j = column[l];
        while (i >= first && j >= 0) {
            sums[i] += work->b[j * LANES + l];
            counts[i] += 1;
            int direction = work->from[((i - first) * work->columns + j) * LANES + l];
            i -= direction != FROM_LEFT;
            j -= direction != FROM_UP;
        }
        row[l] = i;
        column[l] = j;
    }
}

static void align(struct work *work, const int64_t *length, int lanes, double *sums, double *counts, double *distances)
{
    size_t row_bytes = (size_t)work->columns * LANES * sizeof(double);
    int64_t blocks = (work->points + work->block - 1) / work->block, row[LANES], column[LANES];
    for (int l = 0; l < LANES; l++)
        row[l] = work->points;
    incprof_upper_bounds(work->a, work->points, work->b, work->columns, row, length, lanes, work->row, 1, work->limits);
    for (int l = lanes; l < LANES; l++)
        work->limits[l] = -1;
    work->reach = (struct incprof_reach){0, 0};
    for (int64_t at = 0; at < work->columns * LANES; at++)
        work->row[at] = INCPROF_FAR;
    for (int64_t k = 0; k < blocks; k++) {
        memcpy(work->before + k * work->columns * LANES, work->row, row_bytes);
        work->begins[k] = work->reach;
        fill_block(work, k * work->block);
    }
    for (int l = 0; l < lanes; l++) {
        row[l] = work->points - 1;
        column[l] = length[l] - 1;
        distances[l] = work->row[column[l] * LANES + l];
    }
    for (int64_t k = blocks - 1; k >= 0; k--) {
        if (k < blocks - 1) {
            memcpy(work->row, work->before + k * work->columns * LANES, row_bytes);
            work->reach = work->begins[k];
            fill_block(work, k * work->block);
        }
        walk_block(work, k * work->block, lanes, row, column, sums, counts);
    }
}

static int64_t block_rows(int64_t points, int64_t columns)
{
    if (points * columns * LANES <= KEPT)
        return points;
    int64_t rows = 1;
    while (rows * rows < 8 * points)
        rows++;
    return rows < points ? rows : points;
}

static int allocate(struct work *work)
{
    size_t cells = (size_t)work->columns * LANES;
    size_t blocks = (size_t)((work->points + work->block - 1) / work->block);
    work->b = malloc(cells * sizeof(double));
    work->row = malloc(cells * sizeof(double));
    work->before = malloc(blocks * cells * sizeof(double));
    work->from = malloc((size_t)work->block * cells);
    work->begins = malloc(blocks * sizeof *work->begins);
    work->a = malloc((size_t)work->points * LANES * sizeof(double));
    for (int l = 0; work->a && l < LANES; l++)
        incprof_interleave(work->pattern, work->points, work->points, l, work->a);
    return work->a && work->begins && work->b && work->row && work->before && work->from;
}

static void release(struct work *work)
{
    free(work->a);
    free(work->begins);
    free(work->b);
    free(work->row);
    free(work->before);
    free(work->from);
}

/* Align every series with the pattern under DTW2 (sum of squares). sums[i] += the values tied to point i, counts[i] +=
 * their number, distances[s] = the distance of series s. Returns 0, or -1 if out of memory. */
int incprof_dba_step(const double *pattern, int64_t points, const double *values, const int64_t *start,
                     const int64_t *length, int64_t series, double *sums, double *counts, double *distances)
{
    struct work work = {.pattern = pattern, .points = points, .columns = 1};
    for (int64_t s = 0; s < series; s++)
        work.columns = length[s] > work.columns ? length[s] : work.columns;
    work.block = block_rows(points, work.columns);
    int ready = allocate(&work);
    for (int64_t first = 0; ready && first < series; first += LANES) {
        int lanes = series - first < LANES ? (int)(series - first) : LANES;
        for (int l = 0; l < LANES; l++) {
            int64_t s = first + (l < lanes ? l : 0);
            incprof_interleave(values + start[s], length[s], work.columns, l, work.b);
        }
        align(&work, length + first, lanes, sums, counts, distances + first);
    }
    release(&work);
    return ready ? 0 : -1;
}
