/* What the parts of the collector ask of those that are not in a harness. */
#include "worker.h"

void worker_nudge(uint32_t request)
{
    (void)request;
}
