/* The dynamic periodicity detector for magnitudes: processors in use, counters, anything sampled over time.
 *
 *     d(m) = 1/N * sum over n of |x[n] - x[n - m]|,  0 < m < M,  n over the last N samples
 *
 * is updated with every sample in O(M). A period is a lag at which d has a deep local minimum, and at whose multiples
 * it has equally deep ones. See dpd.h for threads and for what "signal-safe" means. */
#ifndef DPD_VALUES_H
#define DPD_VALUES_H

#include <stddef.h>
#include <stdint.h>

#ifndef DPD_API
#define DPD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define DPD_VALUES_MOST 32768 /* samples: N and M */
#define DPD_VALUES_LARGEST 1e150

/* All zero: the defaults. */
struct dpd_values_options {
    int32_t window;    /* N. 0: 100 */
    int32_t lags;      /* M. 0: as window */
    int32_t capacity;  /* Largest N + M that dpd_values_resize may set. 0: N + M */
    int32_t every;     /* Samples between two evaluations of d(m). 0: (N + M) / 64, at least 1 */
    double confidence; /* Least ratio of a maximum of d to the minimum after it. 0: 2.5 */
    int64_t reserved[6];
};

struct dpd_values;

/* As in dpd.h. Memory is aligned to 64 bytes. */
DPD_API size_t dpd_values_size(const struct dpd_values_options *options);
DPD_API struct dpd_values *dpd_values_init(void *memory, const struct dpd_values_options *options);
DPD_API struct dpd_values *dpd_values_create(const struct dpd_values_options *options);
DPD_API void dpd_values_destroy(struct dpd_values *dpd);

/* Feed one sample. Returns 1 if it is the first one of a period, otherwise 0; *period is the period of the stream in
 * samples, or 0. Returns -1 if the sample is not a number, or beyond DPD_VALUES_LARGEST, and was not taken.
 * Signal-safe. */
DPD_API int dpd_values_sample(struct dpd_values *dpd, double sample, int32_t *period);

/* Set N and M (0: as N). All distances are summed again from the available samples: O(N M). Returns 0, or -1 if N or M
 * is below 2 or both are above the capacity. Signal-safe. */
DPD_API int dpd_values_resize(struct dpd_values *dpd, int32_t window, int32_t lags);

/* Write d(m) for m = 1 .. n, over the available samples; -1 if there are none. Signal-safe. */
DPD_API void dpd_values_distances(const struct dpd_values *dpd, double *distances, int32_t n);

/* Return the largest d over d at the period, at the latest evaluation (infinite if that is 0); 0 without a period.
 * Signal-safe. */
DPD_API double dpd_values_confidence(const struct dpd_values *dpd);

/* Predict the sample `ahead` samples after the latest, by the latest one a whole number of periods before. Returns 0 if
 * there is no period. */
DPD_API int dpd_values_predict(const struct dpd_values *dpd, int32_t ahead, double *value);

/* Output of dpd_values_feed; NULL: not needed. */
struct dpd_values_trace {
    int32_t *period;      /* (n,) */
    uint8_t *start;       /* (n,) */
    double *confidence;   /* (n,) */
    const int32_t *ahead; /* (a,) distances to predict */
    size_t aheads;        /* a */
    double *predicted;    /* (n, a): [i, j] predicts sample i + ahead[j], after sample i */
    uint8_t *backing;     /* (n, a): whether there is a prediction */
};

/* Feed n samples. Returns the number taken, up to the first one that dpd_values_sample rejects. Signal-safe. */
DPD_API size_t dpd_values_feed(struct dpd_values *dpd, const double *samples, size_t n, struct dpd_values_trace *trace);

#ifdef __cplusplus
}
#endif
#endif
