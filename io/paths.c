/* Thread safety: `number` is written by a constructor. */
#define _GNU_SOURCE
#include "counts.h"

#include "extension.h"

#define PATH_NS 5000000u

static int number = -1;

void paths_begin(int own)
{
    number = own;
}

uint64_t paths_gap_ns(void)
{
    return (uint64_t)PATH_NS * extension_thinning(number) / EXTENSION_ALL_EVENTS;
}

void path_record(const struct path_event *event)
{
    const uint64_t words[EXTENSION_WORDS] = {(uint64_t)event->file << 8 | event->operation, event->calls_milli,
                                             event->bytes, event->ns};
    if (number >= 0)
        incprof_extension_event(number, words, true);
}
