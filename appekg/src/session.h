/* A process's configuration, run directory and sinks. */
#ifndef EKG_SESSION_H
#define EKG_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "appekg.h"
#include "sink.h"

/* Finds out whose heartbeats these are, the first time. A process that forks before its first beat does it for its
 * children, which meet in one directory. False after one line on stderr, or when there must be no heartbeats. */
bool session_identify(void);

/* Reads what is wanted, claims the run directory. False after one line on stderr, or when heartbeats are disabled.
 * Once. */
bool session_configure(const struct ekg_options *options);

/* Opens the sinks; returns the start of the session, CLOCK_MONOTONIC. In an application's thread. */
uint64_t session_open(void);

bool session_has_sink(void);
bool session_starts_off(void);
uint64_t session_interval_ns(void);

/* For the interval thread. */
void session_write(const struct snapshot *snapshot);
void session_close(const struct snapshot *last);

/* In a forked child. */
void session_forget(void);

#endif
