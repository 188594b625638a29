/* Signals with a default action that ends the program: the open interval is written first.
 *
 * SIGHUP, SIGINT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1 and SIGUSR2 have a handler of ours as long as the application has
 * the default action for them. The handler writes the open interval, which takes as long as at an exit, sets the
 * default action and sends the signal again, which ends the process. The application sees the default action, and
 * programs that it starts inherit it. Signals that dump core are left alone: the core is to show the program.
 *
 * The only state is whether this is enabled: the kernel's action shows the rest, also in a vfork child. Everything is
 * async-signal-safe and thread-safe, except the first two functions. */
#ifndef INCPROF_END_SIGNALS_H
#define INCPROF_END_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Install the handlers, at the start and in a forked child. Not in the first process of a container, which such signals
 * do not end. */
void end_signals_begin(void (*write_first)(void));

/* Restore the default actions. */
void end_signals_end(void);

/* Return a handler, or an action, as the application is to see it. */
sighandler_t end_signals_handler(sighandler_t handler);
void end_signals_conceal(struct sigaction *action);

/* Install or skip our handler after the application has changed the action of this signal, perhaps to the default. Does
 * nothing in a vfork child. */
void end_signals_follow(int number);

/* Reinstall our handler after libc has set and restored the action of this signal, bypassing sigaction. Does nothing in
 * a vfork child. */
void end_signals_touched(int number);

/* Signal state that a program inherits when the calling thread executes or starts it: blocked and ignored signals,
 * including those that are unblocked for the ticks (own_signal.h). Async-signal-safe and thread-safe; in a vfork child,
 * too. */

/* Set that state before an exec (`is_exec`) or a call that starts a program itself; and undo it after the call, or
 * after a failed exec. */
void inherited_begin(bool is_exec);
void inherited_end(bool is_exec);

#endif
