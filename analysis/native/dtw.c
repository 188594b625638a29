/* Dynamic time warping of many pairs at once, and bounds that spare most of them.
 *
 * A batch of LANES pairs is interleaved, so that one vector instruction does the same cell of every pair: the chain
 * of dependencies along a row, which keeps a single pair scalar, is shared by all lanes. Shorter series of a batch are
 * padded; a cell depends only on cells before it, so that the padding never reaches the cell that is read.
 */
#include "dtw.h"

#include "native.h"

#include <stdlib.h>

enum { CHECK_ROWS = 16 };

static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}

static inline double magnitude(double a)
{
    return a < 0 ? -a : a;
}

/* The next row of every lane. row holds the row before, preceded by nothing: `corner` is the cell before its first. */
static ALWAYS_INLINE void advance(const double *restrict a, const double *restrict b, double *restrict row,
                                  int64_t columns, double corner, int squared)
{
    double diagonal[LANES], left[LANES], x[LANES];
    for (int l = 0; l < LANES; l++) {
        diagonal[l] = corner;
        left[l] = INCPROF_FAR;
        x[l] = a[l];
    }
    for (int64_t j = 0; j < columns; j++) {
        const double *restrict y = b + j * LANES;
        double *restrict cell = row + j * LANES;
        EACH_LANE
        for (int l = 0; l < LANES; l++) {
            double up = cell[l], step = x[l] - y[l];
            double before = smaller(up, diagonal[l]);
            left[l] = (squared ? step * step : magnitude(step)) + smaller(before, left[l]);
            diagonal[l] = up;
            cell[l] = left[l];
        }
    }
}

CLONES static void row_abs(const double *a, const double *b, double *row, int64_t columns, double corner)
{
    advance(a, b, row, columns, corner, 0);
}

CLONES static void row_square(const double *a, const double *b, double *row, int64_t columns, double corner)
{
    advance(a, b, row, columns, corner, 1);
}

void incprof_interleave(const double *values, int64_t length, int64_t padded, int lane, double *out)
{
    double last = values[length - 1];
    for (int64_t i = 0; i < padded; i++)
        out[i * LANES + lane] = i < length ? values[i] : last;
}

/* Whether no lane can come out at or below the limit any more: every path crosses every row, and costs only grow. */
static int hopeless(const double *row, int64_t columns, double limit)
{
    double least = INCPROF_FAR;
    for (int64_t at = 0; at < columns * LANES; at++)
        least = smaller(least, row[at]);
    return least > limit;
}

struct batch {
    const double *series[2][LANES];
    int64_t length[2][LANES];
    int64_t rows, columns;
    int lanes;
};

static void run_batch(const struct batch *batch, double *scratch, double limit, int squared, double *out)
{
    double *a = scratch, *b = a + batch->rows * LANES, *row = b + batch->columns * LANES;
    for (int l = 0; l < LANES; l++) {
        int from = l < batch->lanes ? l : 0;
        incprof_interleave(batch->series[0][from], batch->length[0][from], batch->rows, l, a);
        incprof_interleave(batch->series[1][from], batch->length[1][from], batch->columns, l, b);
    }
    for (int64_t at = 0; at < batch->columns * LANES; at++)
        row[at] = INCPROF_FAR;
    for (int l = 0; l < batch->lanes; l++)
        out[l] = INCPROF_FAR;
    for (int64_t i = 0; i < batch->rows; i++) {
        double corner = i == 0 ? 0 : INCPROF_FAR;
        (squared ? row_square : row_abs)(a + i * LANES, b, row, batch->columns, corner);
        for (int l = 0; l < batch->lanes; l++)
            if (i == batch->length[0][l] - 1)
                out[l] = row[(batch->length[1][l] - 1) * LANES + l];
        if (limit < INCPROF_FAR && i % CHECK_ROWS == CHECK_ROWS - 1 && hopeless(row, batch->columns, limit))
            return;
    }
}

static int64_t longest(const int64_t *length, int64_t series)
{
    int64_t most = 1;
    for (int64_t s = 0; s < series; s++)
        most = length[s] > most ? length[s] : most;
    return most;
}

/* The distance of each pair of series, or INCPROF_FAR where it is certain to lie beyond the limit.
 *
 * Series s are the length[s] values from values[start[s]]. Returns 0, or -1 without memory. */
NATIVE_API int incprof_dtw_pairs(const double *values, const int64_t *start, const int64_t *length, int64_t series,
                                 const int32_t *left, const int32_t *right, int64_t pairs, double limit, int squared,
                                 double *out);

int incprof_dtw_pairs(const double *values, const int64_t *start, const int64_t *length, int64_t series,
                      const int32_t *left, const int32_t *right, int64_t pairs, double limit, int squared, double *out)
{
    double *scratch = malloc((size_t)longest(length, series) * LANES * 3 * sizeof(double));
    if (!scratch)
        return -1;
    for (int64_t first = 0; first < pairs; first += LANES) {
        struct batch batch = {.lanes = pairs - first < LANES ? (int)(pairs - first) : LANES};
        for (int l = 0; l < batch.lanes; l++) {
            const int32_t ends[2] = {left[first + l], right[first + l]};
            for (int side = 0; side < 2; side++) {
                batch.series[side][l] = values + start[ends[side]];
                batch.length[side][l] = length[ends[side]];
            }
            batch.rows = batch.length[0][l] > batch.rows ? batch.length[0][l] : batch.rows;
            batch.columns = batch.length[1][l] > batch.columns ? batch.length[1][l] : batch.columns;
        }
        run_batch(&batch, scratch, limit, squared, out + first);
    }
    free(scratch);
    return 0;
}
