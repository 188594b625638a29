/* Results of a detector of magnitudes. */
#include "dpd_internal.h"

void dpd_values_distances(const struct dpd_values *dpd, double *distances, int32_t n)
{
    for (int32_t lag = 1; lag <= n; lag++) {
        int32_t terms = lag <= dpd->lags ? dpd_values_terms(dpd, lag) : 0;
        distances[lag - 1] = terms ? dpd->sum[lag - 1] / terms : -1;
    }
}

double dpd_values_confidence(const struct dpd_values *dpd)
{
    return dpd->period ? dpd->confidence : 0;
}

int dpd_values_predict(const struct dpd_values *dpd, int32_t ahead, double *value)
{
    if (dpd->period == 0 || ahead < 1)
        return 0;
    *value = dpd->buffer[dpd->head + dpd->period - 1 - (ahead - 1) % dpd->period];
    return 1;
}

size_t dpd_values_feed(struct dpd_values *dpd, const double *samples, size_t n, struct dpd_values_trace *trace)
{
    for (size_t i = 0; i < n; i++) {
        int32_t period;
        int start = dpd_values_sample(dpd, samples[i], &period);
        if (start < 0)
            return i;
        if (trace->period)
            trace->period[i] = period;
        if (trace->start)
            trace->start[i] = (uint8_t)start;
        if (trace->confidence)
            trace->confidence[i] = dpd_values_confidence(dpd);
        for (size_t j = 0; j < trace->aheads; j++) {
            double value = 0;
            trace->backing[i * trace->aheads + j] = (uint8_t)dpd_values_predict(dpd, trace->ahead[j], &value);
            trace->predicted[i * trace->aheads + j] = value;
        }
    }
    return n;
}
