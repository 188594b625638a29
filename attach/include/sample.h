/* A tick of the kernel's as a sample: where the thread was, and by which call path. */
#ifndef ATTACH_SAMPLE_H
#define ATTACH_SAMPLE_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "python.h"
#include "ring.h"
#include "unwind.h"

/* Unwinds the copied stack by the code of modules_use; `cache` and `python_codes` (or NULL) are the process's. Weight
 * and thread are the caller's to set. Whether the path is whole: what is not begins with SAMPLE_BROKEN. Not
 * thread-safe. */
bool sample_read(struct sample *sample, const struct perf_event_header *record, struct unwind_cache *cache,
                 struct python_thread *python_codes);

#endif
