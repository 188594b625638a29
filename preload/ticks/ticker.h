/* What makes each thread's ticks: a timer or a perf event on its own CPU clock, one signal per expiry (own_signal.h
 * says which).
 */
#ifndef INCPROF_TICKER_H
#define INCPROF_TICKER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "thread.h"

/* Before the first thread starts, of the process or of a forked child. */
void ticker_begin(const struct config *config);

/* A number below `bound`, uniform. Async-signal-safe and thread-safe. */
uint64_t ticker_random_below(uint64_t bound);

/* Async-signal-safe, touches no vector register; called by the thread itself. */
void ticker_start_thread(struct thread *thread);

/* The thread's ticks come by another signal from here on. `wait`: not before they do. Async-signal-safe; by the thread
 * itself, in a handler without waiting. */
void ticker_move(struct thread *thread, bool wait);

/* The calling thread's timer is gone for a while, and back on its old grid. What is in its place (perf's events) goes
 * on. Async-signal-safe. */
void ticker_pause(struct thread *thread);
void ticker_resume(struct thread *thread);

/* Ticks of the calling thread that came by a signal while it was blocked already, and are no signal of the
 * application's. Async-signal-safe. */
void ticker_discard_pending(struct thread *thread, int number);

/* Sees to the threads that wait for a perf event. Collector. */
void ticker_give(void);

/* Gives back the timer of a thread that is gone, or is to be sampled no more; the collector its perf event, too.
 * Async-signal-safe. */
void ticker_forget_thread(struct thread *thread);

/* The interval thread ends, and its events with it: the next one gives the thread another. Collector. */
void ticker_park(struct thread *thread);

/* Gives back the perf event of the record's last thread. Collector. */
void ticker_close_event(struct thread *thread);

/* Whether a signal comes from the thread's timer or event; thread may be NULL. Async-signal-safe. */
bool ticker_is_ours(const struct thread *thread, const siginfo_t *info);

/* Expirations that a signal stands for, which count as delivered from now on; those that were due while one was pending
 * are merged into it. Async-signal-safe, by the thread itself. */
uint32_t ticker_weight(struct thread *thread, const siginfo_t *info);

/* Ticks that are due by the thread's CPU clock and that no signal stood for. Async-signal-safe, by the thread itself.
 */
uint64_t ticker_overdue(const struct thread *thread);

/* One line on stderr, once, if some thread could not be sampled as asked. Collector. */
void ticker_report_trouble(void);

#endif
