/* A process's configuration, run directory and sinks. */
#ifndef EKG_SESSION_H
#define EKG_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "appekg.h"
#include "sink.h"

/* Reads what is wanted, claims the run directory. False after one line on stderr, or when heartbeats are disabled.
 * Once. */
bool session_configure(const struct ekg_options *options);

/* Opens the sinks; returns the start of the session, CLOCK_MONOTONIC. In an application's thread. */
uint64_t session_open(bool forked);

bool session_has_sink(void);
bool session_starts_off(void);
uint64_t session_interval_ns(void);

/* For the interval thread. */
void session_write(const struct snapshot *snapshot);
void session_close(const struct snapshot *last);

/* In a forked child. */
void session_forget(void);

#endif
