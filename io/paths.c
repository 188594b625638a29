/* Thread safety: `number` is written by a constructor. */
#define _GNU_SOURCE
#include "counts.h"

#include "extension.h"

static int number = -1;

void paths_begin(int own)
{
    number = own;
}

void path_record(const struct path_event *event)
{
    const uint64_t words[EXTENSION_WORDS] = {(uint64_t)event->file << 8 | event->operation, event->calls_milli,
                                             event->bytes, event->ns};
    if (number >= 0)
        incprof_extension_event(number, words, true);
}
