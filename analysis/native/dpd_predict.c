/* Prediction of samples, and processing of whole streams. */
#include "dpd_internal.h"

/* Return the smallest lag with the longest run; 0 if nothing matches. */
static int32_t longest_match(const struct dpd *dpd)
{
    uint16_t most = dpd->kernels->longest(dpd->run, (size_t)dpd->lags);
    int32_t lag = 1;
    if (most == 0)
        return 0;
    while (dpd->run[lag - 1] != most)
        lag++;
    return lag;
}

int dpd_predict(const struct dpd *dpd, int32_t ahead, int64_t *value)
{
    if (ahead < 1)
        return DPD_NOTHING;
    const struct level *outermost = dpd_outermost(dpd);
    if (outermost && outermost->mend >= 0) {
        *value = dpd_mend_predict(dpd, outermost, ahead);
        return DPD_PERIOD;
    }
    int32_t lag = outermost ? outermost->loop.period : longest_match(dpd);
    if (dpd->recall.size != 0) {
        uint32_t further = outermost ? recall_trusted(&dpd->recall)
                                     : recall_lag(&dpd->recall, lag ? dpd->run[lag - 1] : 0, dpd->count);
        if (further != 0) {
            *value = recall_sample(&dpd->recall, further - 1 - (uint32_t)(ahead - 1) % further, dpd->count);
            return DPD_RECURRENCE;
        }
    }
    if (lag == 0)
        return DPD_NOTHING;
    /* Go back the smallest number of whole lags that leads into the past. */
    *value = dpd_sample(dpd, lag - 1 - (ahead - 1) % lag);
    return outermost ? DPD_PERIOD : DPD_RECURRENCE;
}

size_t dpd_events(struct dpd *dpd, const int64_t *samples, size_t n, struct dpd_trace *trace)
{
    for (size_t i = 0; i < n; i++) {
        if (trace->loops && trace->room - trace->ended < DPD_LEVELS)
            return i;
        int32_t period;
        int start = dpd_event(dpd, samples[i], &period);
        if (trace->period)
            trace->period[i] = period;
        if (trace->start)
            trace->start[i] = (uint8_t)start;
        for (size_t j = 0; j < trace->aheads; j++) {
            int64_t value = 0;
            trace->backing[i * trace->aheads + j] = (uint8_t)dpd_predict(dpd, trace->ahead[j], &value);
            trace->predicted[i * trace->aheads + j] = value;
        }
        if (trace->loops)
            trace->ended += (size_t)dpd_ended(dpd, trace->loops + trace->ended, DPD_LEVELS);
    }
    return n;
}
