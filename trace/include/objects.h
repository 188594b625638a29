/* Communicators, windows and files: from the handles of an MPI to small numbers, from 1 on, which are given again when
 * their object has gone. Thread-safe as far as the program's calls of MPI are; not async-signal-safe. */
#ifndef TRACE_OBJECTS_H
#define TRACE_OBJECTS_H

#include <stdint.h>

#include "buffer.h"
#include "event.h"

/* Appends what a reader has to know of an object, unless `versions`, the thread's own, says that it knows. */
void objects_explain(uint32_t *versions, uint32_t number, struct buffer *words);

#endif
