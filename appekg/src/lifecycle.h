/* Life of heartbeats: from the first beat or ekg_init to ekg_finalize or the end of the process. Also their parts: the
 * switch, the session, the intervals and their thread. */
#ifndef EKG_LIFECYCLE_H
#define EKG_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "appekg.h"
#include "sink.h"

/* The state of the process, and whether beats are currently recorded. All of it is thread-safe and async-signal-safe;
 * lifecycle.c defines which threads may change the state. */

/* IDLE until the first beat; FORKED in a child until its first beat; OVER for good. */
enum switch_state { SWITCH_IDLE, SWITCH_FORKED, SWITCH_RUNNING, SWITCH_OVER };

enum switch_state switch_state(void);
void switch_set_state(enum switch_state state);

/* Apply the operator's setting. */
void switch_turn(bool on);
bool switch_is_on(void);

/* Make the process switch off once it has started; until its first beat it only appears to be on. */
void switch_start_off(bool off);
bool switch_starts_off(void);

/* Forget the open beats of all threads, as if recording had been off for a moment. For the interval thread. */
void switch_new_generation(void);

/* End heartbeats, whatever the operator's setting. */
void switch_end(void);

/* Start heartbeats if necessary, also in a forked child. False if there are none (any more). May be called from several
 * threads; not async-signal-safe. */
bool lifecycle_start(const struct ekg_options *options);

/* Run `work` before the first beat of the process; a first beat of another thread waits meanwhile. False if the first
 * beat has already occurred. Not async-signal-safe. */
bool lifecycle_while_idle(void (*work)(void));

/* A process's configuration, run directory and sinks. */

/* Identify the process, the first time. A process that forks before its first beat does it for its children, which
 * share one directory. False after one line on stderr, or if heartbeats are not permitted. */
bool session_identify(void);

/* Read the configuration, and claim the run directory. False after one line on stderr, or if heartbeats are disabled.
 * Once. */
bool session_configure(const struct ekg_options *options);

/* Open the sinks; return the start of the session, CLOCK_MONOTONIC. In an application's thread. */
uint64_t session_open(void);

bool session_has_sink(void);
bool session_starts_off(void);
uint64_t session_interval_ns(void);

/* For the interval thread. */
void session_write(const struct snapshot *snapshot);
void session_close(const struct snapshot *last);

/* In a forked child. */
void session_forget(void);

/* Taking of intervals: the beats of all threads since the previous one. For the interval thread. */

/* Begin the first interval at `start_ns` (CLOCK_MONOTONIC), the reference of all other times. */
void interval_start(uint64_t start_ns);

/* Close the open interval. The snapshot and its rows stay valid until the next call. */
const struct snapshot *interval_take(void);

/* Make the next interval the last one, for which this thread waits: it writes none of its slots, whatever their
 * state. */
void interval_request_last(pid_t tid);

/* Return whether a thread was inside a begin or end for so long that its beats are left for another interval. */
bool interval_has_more(void);

/* In a forked child: restart the rows. */
void interval_forget(void);

/* The interval thread: it takes each interval, checks the operator's switch, and takes the last interval. */

/* Start the thread. The first interval began at `start_ns` (CLOCK_MONOTONIC). False if it cannot be created. */
bool interval_thread_start(uint64_t start_ns);

/* Request the last interval, and wait for it for two seconds at most. */
void interval_thread_stop(void);

/* The operator's switch: a file `control` in the run directory that holds `on` or `off`. */
enum control { CONTROL_NONE, CONTROL_ON, CONTROL_OFF };

void control_start(const char *directory);

/* Return the file's setting if it has changed since the last call. For the interval thread. */
enum control control_poll(void);

#endif
