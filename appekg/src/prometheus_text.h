/* Heartbeats in Prometheus' text exposition format (docs/appekg-prometheus.md lists the metrics). */
#ifndef EKG_PROMETHEUS_TEXT_H
#define EKG_PROMETHEUS_TEXT_H

#include <stdint.h>

#include "buffer.h"
#include "id_sums.h"

/* Of the process, since its start. */
struct process_totals {
    uint64_t intervals, dropped, unmatched, abandoned, write_failures;
    uint64_t own_ns;
};

/* ,key="value", escaped; without the comma at the beginning. What is not UTF-8 becomes question marks. */
void prometheus_label(struct buffer *labels, const char *key, const char *value);

/* One whole file. `labels` are those that every sample has; `launch` is the launch's identity. For the interval
 * thread. */
void prometheus_text(struct buffer *out, const struct buffer *labels, const char *launch,
                     const struct process_totals *totals, const struct id_sums *sums, const struct snapshot *snapshot);

#endif
