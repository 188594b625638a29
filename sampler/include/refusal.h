/* What the kernel's refusal of a counter or a file means, in words for people. */
#ifndef SAMPLER_REFUSAL_H
#define SAMPLER_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perf.h"

/* Why perf_event_open said no (negative errno) to an event of this type, into `text`; `of_kernel` as
 * for counter_open. Reads /proc. Thread-safe. */
void refusal_of_counter(char *text, size_t size, int error, uint32_t type, bool of_kernel, struct target target);

/* Why a file of /proc could not be read. Thread-safe. */
void refusal_of_file(char *text, size_t size, int error, const char *path);

#endif
