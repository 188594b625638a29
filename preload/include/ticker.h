/* What makes each thread's ticks: a timer or a perf event on its own CPU clock, one signal per expiry.
 *
 * The signal is SIGURG: nobody is killed by it when a program resets its handlers, and it leaves SIGPROF to the
 * application. An application that wants SIGURG for itself gets its own (hooks.c passes them on).
 */
#ifndef INCPROF_TICKER_H
#define INCPROF_TICKER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "thread.h"

#define SAMPLER_SIGNAL SIGURG

/* Takes perf's clock where nobody asked for a clock and CPU timers do not go as fast as the rate. One line on stderr
 * where perf's is not to be had. Once, before ticker_begin. */
void ticker_choose_clock(struct config *config);

/* Once, before the first thread starts. */
void ticker_begin(const struct config *config);

/* Async-signal-safe, touches no vector register; called by the thread itself. */
void ticker_start_thread(struct thread *thread);

/* Gives back the timer of a thread that is gone, or is to be sampled no more. A perf event is a descriptor, which only
 * the thread itself can close: it does so at its next signal. Async-signal-safe. */
void ticker_forget_thread(struct thread *thread);

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
