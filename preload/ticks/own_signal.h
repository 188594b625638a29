/* The ticks' signal, and the application's use of it.
 *
 * It is SIGURG, or SIGWINCH once the application uses SIGURG itself. A program receives neither of the two unless it
 * requests them (out-of-band data; a controlling terminal), and neither does anything by default, so a program that
 * resets its handlers unnoticed is not killed. Real-time signals kill by default. Worse, perf events queue them without
 * bound, and when the kernel's queue is full it sends SIGIO, which kills too.
 *
 * The application does not see the signal in use. The action that it sets for that signal is stored here.
 *
 * A handler for the signal, or a wait for it (sigwait, signalfd), claims it: the ticks move to the other one, each
 * thread's at its next tick, and the signal is the application's alone. A program that claims both is no longer sampled
 * (one line on stderr). A wait for all signals (a set with the last real-time signal in it) claims nothing.
 *
 * If a thread blocks the signal, it stays unblocked for the ticks and is hidden: the thread's record holds its number.
 * When one arrives that is no tick, it is sent again and really blocked: the application has claimed it.
 *
 * A vfork child has no ticks, and shares its parent's memory: it must call own_signal_hand_over first, and then only
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

/* Install the handler for the first of the two signals. Returns false on failure. Once, before the first thread
 * starts. */
bool own_signal_begin(signal_handler on_tick);

/* Return the ticks' current signal, or 0 when neither is left. */
int own_signal(void);

/* Return whether the application's action for this signal is stored here. */
bool own_signal_keeps(int number);

/* sigaction for such a signal: 0, or errno. */
int own_signal_action(int number, const struct sigaction *action, struct sigaction *old);

/* Apply the application's action to a signal that is no tick. For the tick handler. */
void own_signal_pass_on(int *hidden, int number, siginfo_t *info, ucontext_t *context);

/* Send a consumed signal again to its original target. */
void own_signal_send_again(int number, siginfo_t *info);

/* Really block the calling thread's hidden signal if it has been claimed since. */
void own_signal_follow(int *hidden);

/* In a process without ticks (a vfork child, or a forked one that is not recorded): install the application's actions,
 * and its blocked signal for the calling thread, in the kernel. Writes no memory. Only the first call does anything. */
void own_signal_hand_over(int hidden);

/* The same in a process with memory of its own, after which nothing is stored here. Single-threaded. */
void own_signal_end(int *hidden);

/* The same before the calling thread executes or starts a program, which inherits the state; the second function undoes
 * it. */
void own_signal_before_exec(int hidden);
void own_signal_after_exec(int hidden);

/* Prepare a change of the calling thread's mask (`how` and `set` as in sigprocmask): remove the ticks' signal from the
 * set, and hide it. */
void own_signal_before_mask(int *hidden, int how, sigset_t *set);

/* Prepare a wait of the calling thread for these signals: remove the ticks' signal from the set. */
void own_signal_before_wait(int *hidden, sigset_t *set);

#endif
