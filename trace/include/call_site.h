/* Where in the program an MPI call is. Thread-safe; not async-signal-safe (the loader's lock, once per thread). */
#ifndef TRACE_CALL_SITE_H
#define TRACE_CALL_SITE_H

#include <stdint.h>

/* Where Fortran called from last, in this thread, or 0. Written by the ways in (entry_*.S). */
extern _Thread_local uint64_t trace_fortran_site __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* An address within the call: of the program's, where the caller is a Fortran binding that was called by it. */
uint64_t site_of_call(const void *return_address);

#endif
