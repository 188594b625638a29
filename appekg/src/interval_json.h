/* One interval as one JSON object, for collectors that take messages (docs/appekg-ldms.md has its members). */
#ifndef EKG_INTERVAL_JSON_H
#define EKG_INTERVAL_JSON_H

#include <stdint.h>

#include "buffer.h"
#include "id_sums.h"
#include "sink.h"

/* `lost`: intervals that have not reached the collector until now. Ids without anything in this interval are not
 * named. For the interval thread. */
void interval_json(struct buffer *out, const struct session *session, const struct snapshot *snapshot,
                   const struct id_sums *sums, uint64_t lost);

#endif
