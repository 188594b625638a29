/* What the parts of the collector ask of those that are not in a harness. */
#include "extensions.h"
#include "worker.h"

void worker_notify(uint32_t request)
{
    (void)request;
}

void extensions_take(const struct sample *event, uint32_t node)
{
    (void)event, (void)node;
}
