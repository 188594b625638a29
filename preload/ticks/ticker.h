/* Source of each thread's ticks: a timer or a perf event on its own CPU clock, one signal per expiry (which signal:
 * own_signal.h). */
#ifndef INCPROF_TICKER_H
#define INCPROF_TICKER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config.h"
#include "thread.h"

/* Before the first thread starts, of the process or of a forked child. */
void ticker_begin(const struct config *config);

/* Return a uniform random number below `bound`. Async-signal-safe and thread-safe. */
uint64_t ticker_random_below(uint64_t bound);

/* Start the thread's ticks. Async-signal-safe, touches no vector register; called by the thread itself. */
void ticker_start_thread(struct thread *thread);

/* Switch the thread's ticks to the other signal. `wait`: return only once they use it. Async-signal-safe; by the thread
 * itself, and in a handler without waiting. */
void ticker_move(struct thread *thread, bool wait);

/* Delete the calling thread's timer for a while, and restore it on its old grid. perf events, where they replace it,
 * keep running. Async-signal-safe. */
void ticker_pause(struct thread *thread);
void ticker_resume(struct thread *thread);

/* Discard ticks of the calling thread that became pending on a blocked signal, so that the application does not receive
 * them. Async-signal-safe. */
void ticker_discard_pending(struct thread *thread, int number);

/* Open perf events for the threads that wait for one. Collector. */
void ticker_assign(void);

/* Release the timer of a thread that has ended or is no longer sampled; in the collector its perf event, too.
 * Async-signal-safe. */
void ticker_forget_thread(struct thread *thread);

/* Drop the thread's event, which ends with the interval thread; the next interval thread opens another. Collector. */
void ticker_park(struct thread *thread);

/* Close the perf event of the record's last thread. Collector. */
void ticker_close_event(struct thread *thread);

/* Return whether the signal comes from the thread's timer or event; thread may be NULL. Async-signal-safe. */
bool ticker_is_ours(const struct thread *thread, const siginfo_t *info);

/* Return the number of expirations that the signal stands for, and count them as delivered; expirations during a
 * pending signal merge into it. Async-signal-safe, by the thread itself. */
uint32_t ticker_weight(struct thread *thread, const siginfo_t *info);

/* Return the number of ticks due by the thread's CPU clock that no signal has delivered; below 0 if signals delivered
 * more than were due. Async-signal-safe, by the thread itself. */
int64_t ticker_overdue(const struct thread *thread);

/* Print one line on stderr, once, if some thread could not be sampled as configured. Collector. */
void ticker_report_trouble(void);

/* Ticks that were due to ended threads, but that the kernel did not detect: it checks CPU-time timers only at its own
 * tick, and most threads shorter than that end before. They count for the next sample of a thread with the same start
 * routine. Everything here is async-signal-safe, and thread-safe but for the first function.
 */

/* Before the first thread starts, of the process or of a forked child. */
void missed_ticks_begin(void);

/* Return the ticks that ended threads of this start routine have missed, and remove them. */
uint64_t missed_ticks_take(uint64_t start_pc);

/* Add those of a thread that ends (below 0: it had more than were due). Returns the ticks to count for the start
 * routine itself: all, if there are so many that the threads seem to run in step with the kernel's tick and to get no
 * samples.
 */
uint64_t missed_ticks_leave(uint64_t start_pc, int64_t ticks);

/* perf's software clock of a thread, which signals it once per period of its CPU time. The kernel checks CPU-time
 * timers only at its tick (HZ); this clock supports any rate.
 *
 * Everything here is async-signal-safe and thread-safe.
 */

/* Open the event, disabled. Returns a descriptor in the calling thread's table, or negative errno. `tid`: 0 is the
 * calling thread. */
int perf_event_open(pid_t tid, uint64_t every_ns);

/* Set the thread and the signal that the event notifies. */
bool perf_event_aim(int fd, pid_t tid, int number);

/* perf_event_aim, then start counting. */
bool perf_event_start(int fd, pid_t tid, int number);

/* Stop counting until the next start. */
bool perf_event_stop(int fd);

/* perf_event_start for `times` signals only. */
bool perf_event_start_some(int fd, pid_t tid, int number, int times);

/* Choice of the tick clock and rate, from the settings and the machine's abilities. */

/* Return the kernel's tick, 1 / HZ, or 0 if it is unknown. Async-signal-safe. */
uint64_t rate_kernel_tick_ns(void);

/* Select perf's clock if no clock was set and CPU timers cannot reach the rate. Lower a rate above 1 000 Hz whose ticks
 * take more of the CPU time than config->overhead: in virtual machines a tick may cost 50 us. Prints one line on stderr
 * where the result differs from the settings. Changes `config`. Once, before main, with the ticks' signal handled;
 * measuring such a rate takes some milliseconds. */
void rate_choose(struct config *config);

#endif
