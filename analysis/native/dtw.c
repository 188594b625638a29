/* Dynamic time warping of many pairs at once, and bounds that avoid most of the work.
 *
 * A batch of LANES pairs is interleaved, so that one vector instruction computes the same cell of every pair: the chain
 * of dependencies along a row, which keeps a single pair scalar, is shared by all lanes. Shorter series of a batch are
 * padded; a cell depends only on cells before it, so that the padding never reaches the cell that is read.
 *
 * The best alignment in a narrow band is an upper bound; columns at both ends of a row that are beyond it in every lane
 * cannot lie on a better alignment, and are skipped (Silva and Batista 2016). The distances are identical to the bit.
 */
#include "dtw.h"

#include "native.h"

#include <stdlib.h>

/* Half width of the upper bound's band: BAND columns, plus 1 / BAND_PART of all. */
enum { BAND = 8, BAND_PART = 16 };

static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}

static inline double magnitude(double a)
{
    return a < 0 ? -a : a;
}

static ALWAYS_INLINE void advance(const double *restrict a, const double *restrict b, double *restrict row,
                                  int64_t from, int64_t to, struct incprof_edge *edge, int squared)
{
    double diagonal[LANES], left[LANES], x[LANES];
    for (int l = 0; l < LANES; l++) {
        diagonal[l] = edge->diagonal[l];
        left[l] = edge->left[l];
        x[l] = a[l];
    }
    for (int64_t j = from; j < to; j++) {
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
    for (int l = 0; l < LANES; l++) {
        edge->diagonal[l] = diagonal[l];
        edge->left[l] = left[l];
    }
}

CLONES static void row_abs(const double *a, const double *b, double *row, int64_t from, int64_t to,
                           struct incprof_edge *edge)
{
    advance(a, b, row, from, to, edge, 0);
}

CLONES static void row_square(const double *a, const double *b, double *row, int64_t from, int64_t to,
                              struct incprof_edge *edge)
{
    advance(a, b, row, from, to, edge, 1);
}

void incprof_row(const double *a, const double *b, double *row, int64_t from, int64_t to, struct incprof_edge *edge,
                 int squared)
{
    (squared ? row_square : row_abs)(a, b, row, from, to, edge);
}

void incprof_begin_row(int64_t i, struct incprof_edge *edge)
{
    for (int l = 0; l < LANES; l++) {
        edge->left[l] = INCPROF_FAR;
        edge->diagonal[l] = i == 0 ? 0 : INCPROF_FAR;
    }
}

int incprof_beyond(const double *cell, const double *limits)
{
    int within = 0;
    for (int l = 0; l < LANES; l++)
        within |= cell[l] <= limits[l];
    return !within;
}

void incprof_narrow(const double *row, int64_t end, const double *limits, struct incprof_reach *reach)
{
    reach->high = end;
    while (reach->high > reach->low && incprof_beyond(row + (reach->high - 1) * LANES, limits))
        reach->high--;
    while (reach->low < reach->high && incprof_beyond(row + reach->low * LANES, limits))
        reach->low++;
}

static void forget(double *row, int64_t columns)
{
    for (int64_t at = 0; at < columns * LANES; at++)
        row[at] = INCPROF_FAR;
}

void incprof_upper_bounds(const double *a, int64_t rows, const double *b, int64_t columns, const int64_t *rows_of,
                          const int64_t *columns_of, int lanes, double *row, int squared, double *bounds)
{
    int64_t width = BAND + columns / BAND_PART, low = 0;
    for (int l = 0; l < LANES; l++)
        bounds[l] = INCPROF_FAR;
    if (4 * width >= columns)
        return;
    forget(row, columns);
    for (int64_t i = 0; i < rows; i++) {
        struct incprof_edge edge;
        int64_t centre = rows > 1 ? i * (columns - 1) / (rows - 1) : 0;
        int64_t from = centre > width ? centre - width : 0,
                to = centre + width < columns ? centre + width + 1 : columns;
        incprof_begin_row(i, &edge);
        /* The cell before the band belongs to the previous row only if the band has just left it. */
        for (int l = 0; from > low && l < LANES; l++)
            edge.diagonal[l] = row[(from - 1) * LANES + l];
        incprof_row(a + i * LANES, b, row, from, to, &edge, squared);
        low = from;
        for (int l = 0; l < lanes; l++)
            if (i == rows_of[l] - 1 && columns_of[l] - 1 >= from && columns_of[l] - 1 < to)
                bounds[l] = row[(columns_of[l] - 1) * LANES + l];
    }
}

void incprof_interleave(const double *values, int64_t length, int64_t padded, int lane, double *out)
{
    double last = values[length - 1];
    for (int64_t i = 0; i < padded; i++)
        out[i * LANES + lane] = i < length ? values[i] : last;
}

struct batch {
    const double *series[2][LANES];
    int64_t length[2][LANES];
    int64_t rows, columns;
    int lanes;
};

/* Compute the next row from the begin of the reach, as far as any lane may go; return the end of the computed
 * columns. */
static int64_t reach_on(const double *a, int64_t i, const double *b, double *row, int64_t columns, const double *limits,
                        const struct incprof_reach *reach, int squared)
{
    struct incprof_edge edge;
    int64_t end = reach->high;
    incprof_begin_row(i, &edge);
    incprof_row(a, b, row, reach->low, end, &edge, squared);
    while (end < columns && !(end > reach->high && incprof_beyond(row + (end - 1) * LANES, limits))) {
        int64_t to = end + BEYOND_REACH < columns ? end + BEYOND_REACH : columns;
        incprof_row(a, b, row, end, to, &edge, squared);
        end = to;
    }
    return end;
}

static void run_batch(const struct batch *batch, double *scratch, double limit, int squared, double *out)
{
    double *a = scratch, *b = a + batch->rows * LANES, *row = b + batch->columns * LANES, limits[LANES];
    for (int l = 0; l < LANES; l++) {
        int from = l < batch->lanes ? l : 0;
        incprof_interleave(batch->series[0][from], batch->length[0][from], batch->rows, l, a);
        incprof_interleave(batch->series[1][from], batch->length[1][from], batch->columns, l, b);
    }
    incprof_upper_bounds(a, batch->rows, b, batch->columns, batch->length[0], batch->length[1], batch->lanes, row,
                         squared, limits);
    for (int l = 0; l < LANES; l++)
        limits[l] = l < batch->lanes ? smaller(limits[l], limit) : -1;
    forget(row, batch->columns);
    for (int l = 0; l < batch->lanes; l++)
        out[l] = INCPROF_FAR;
    struct incprof_reach reach = {0, 0};
    for (int64_t i = 0; i < batch->rows; i++) {
        int64_t end = reach_on(a + i * LANES, i, b, row, batch->columns, limits, &reach, squared);
        for (int l = 0; l < batch->lanes; l++)
            if (i == batch->length[0][l] - 1) {
                int64_t last = batch->length[1][l] - 1;
                if (last >= reach.low && last < end && row[last * LANES + l] <= limits[l])
                    out[l] = row[last * LANES + l];
                limits[l] = -1;
            }
        incprof_narrow(row, end, limits, &reach);
        if (reach.low == reach.high)
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

/* Compute the distance of each pair of series, or INCPROF_FAR if it is certain to be beyond the limit.
 *
 * Series s are the length[s] values from values[start[s]]. Returns 0, or -1 if out of memory. */
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
