/* Reasons, for people. */
#ifndef SAMPLER_WHY_H
#define SAMPLER_WHY_H

#include <stddef.h>
#include <stdint.h>

#include "perf.h"

/* Why perf_event_open said no (negative errno) to an event of this type, into `text`. Reads /proc. */
void why_no_counter(char *text, size_t size, int error, uint32_t type, struct target target);

/* Why a file of /proc could not be read. */
void why_no_file(char *text, size_t size, int error, const char *path);

#endif
