/* The signal that the ticks come by, and the application's use of it.
 *
 * It is SIGURG, or SIGWINCH once the application wants SIGURG for itself: the two signals that nobody is sent without
 * asking for them (out-of-band data; a terminal of one's own) and that do nothing by default, so that a program which
 * resets its handlers behind our back is not killed. Real-time signals kill by default. Worse, perf's events queue them
 * without bound, and where the kernel can queue no more it sends SIGIO, which kills too.
 *
 * The application does not see it. What it asks for in its stead is kept here.
 *
 * A handler for the signal, or a wait for it (sigwait, signalfd), claims it: the ticks move to the other one, each
 * thread's at its next tick, and the signal is the application's alone. A program that claims both is sampled no more
 * (one line on stderr). A wait for all signals (a set with the last real-time signal in it) claims nothing.
 *
 * Where a thread blocks it, it stays open for the ticks, and is hidden: the thread's record holds its number. When one
 * comes that is no tick, it is sent again and blocked for real: the application has claimed it.
 *
 * A vfork child has no ticks, and its parent's memory: there, own_signal_hand_over comes before anything else, and then
 * the kernel's own calls.
 *
 * Everything here is async-signal-safe and thread-safe, but for own_signal_begin. `hidden` is of the calling thread.
 */
#ifndef INCPROF_OWN_SIGNAL_H
#define INCPROF_OWN_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

typedef void (*signal_handler)(int number, siginfo_t *info, void *context);

/* Installs the handler for the first of the two. False where that fails. Once, before the first thread starts. */
bool own_signal_begin(signal_handler on_tick);

/* The ticks' signal now, or 0 when there is none left. */
int own_signal(void);

/* Whether the application's action for this signal is kept here. */
bool own_signal_keeps(int number);

/* sigaction for such a signal: 0, or errno. */
int own_signal_action(int number, const struct sigaction *action, struct sigaction *old);

/* Does with a signal that is no tick what the application asked for. For the handler of the ticks. */
void own_signal_pass_on(int *hidden, int number, siginfo_t *info, ucontext_t *context);

/* Sends a signal that was taken once more, to whom it came to. */
void own_signal_send_again(int number, siginfo_t *info);

/* What the calling thread has hidden is blocked for real where it has been claimed since. */
void own_signal_follow(int *hidden);

/* In a process that has no ticks, a vfork child or a forked one that is not recorded: the kernel gets what the
 * application has asked for, the actions and, of the calling thread, that the signal is blocked. Writes no memory. Only
 * the first call does anything. */
void own_signal_hand_over(int hidden);

/* The same in a process of its own, in which nothing is kept any more. With one thread. */
void own_signal_end(int *hidden);

/* The same for a program that the calling thread becomes or starts, which is to inherit it; and undoes it after that.
 */
void own_signal_before_exec(int hidden);
void own_signal_after_exec(int hidden);

/* The calling thread is about to change its mask, by `how` and `set` as in sigprocmask: takes out of the set what must
 * be left to the ticks, and hides it. */
void own_signal_before_mask(int *hidden, int how, sigset_t *set);

/* The calling thread is about to wait for these signals: takes out what must be left to the ticks. */
void own_signal_before_wait(int *hidden, sigset_t *set);

#endif
