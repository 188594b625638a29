/* Signals that end the program because it has left them alone: what it did is written first.
 *
 * SIGHUP, SIGINT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1 and SIGUSR2 have a handler of ours as long as the application has
 * the default action for them. It has the open interval written, which takes as long as an exit does, sets the default
 * action and sends the signal again: the process ends by it. The application sees the default action, and the kernel
 * gives it to the programs that it starts. Signals that leave a core are not touched: that is to show the program.
 *
 * No state is kept but whether all this is in force: the kernel's action shows the rest, also in a vfork child.
 * Everything is async-signal-safe and thread-safe, but for the first two functions. */
#ifndef INCPROF_END_SIGNALS_H
#define INCPROF_END_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* At the start, and in a forked child. Not in the first process of a container, which such signals do not end. */
void end_signals_begin(void (*write_first)(void));

/* The kernel has the default actions again. */
void end_signals_end(void);

/* What the application sees of a handler, or of an action. */
sighandler_t end_signals_handler(sighandler_t handler);
void end_signals_conceal(struct sigaction *action);

/* The application has changed the action of this signal, to the default one perhaps. Nothing in a vfork child. */
void end_signals_follow(int number);

/* libc has set and put back the action of this signal, past sigaction. Nothing in a vfork child. */
void end_signals_touched(int number);

#endif
