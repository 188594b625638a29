/* What /proc tells of the whole machine. One thread at a time; no allocation once probed; not async-signal-safe. */
#ifndef SAMPLER_MACHINE_H
#define SAMPLER_MACHINE_H

#include <stdint.h>

#include "events.h"

/* The file that a field comes from, or NULL where only a program has it. Thread-safe. */
const char *machine_file(enum field field);

/* Opens the field's file and reads it once. 0 or negative errno; -ENODEV: no network interface but lo. */
int machine_probe(enum field field);

/* Fills those fields of values[FIELDS] whose files have been opened. */
void machine_read(double *values);

#endif
