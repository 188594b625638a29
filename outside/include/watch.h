/* The process that a recorder observes from outside: its signals and its end.
 *
 * A recorder that has started a program has the pid that the launcher uses. Signals sent to that pid are passed on to
 * the program, each once; the recorder stops when the program is stopped. Signals to the whole process group have
 * reached the program directly.
 *
 * Not async-signal-safe; one thread. */
#ifndef OUTSIDE_WATCH_H
#define OUTSIDE_WATCH_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The recorded program, which starts when the recorder is ready. Not async-signal-safe; one thread at a time. */

/* The exit status of a recorder, as in incprof/errors.py. */
enum { FAILURE = 1, USAGE = 2, NO_DATA = 4, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

struct child {
    pid_t pid;
    int go, failed; /* pipes to it and from it */
};

/* Fork a process that waits. `mask`: the previously blocked signals. Returns 0 or negative errno. */
int child_prepare(struct child *child, const char *program, char **words, const sigset_t *mask);

/* Raise the recorder's limit on open files, and ignore SIGPIPE and SIGXFSZ; the program already has its own
 * settings. */
void recorder_prepare(void);

/* Make it execute the program. Returns 0, or the exit status after one line on stderr. */
int child_go(struct child *child, char **words);

/* Return the exit status for a program that cannot be executed (errno), after one line on stderr. */
int cannot_run(const char *program, int error);

/* End it instead, before the exec. */
void child_abandon(struct child *child);

/* Return whether it has ended; its status is not reaped. */
int child_has_ended(const struct child *child);

/* Return the signal that has stopped it, or 0 if it is not stopped. */
int child_stopped_by(const struct child *child);

/* Wait for its end, and end this process in the same way; never returns. */
_Noreturn void child_become(const struct child *child);

/* Distinguishes signals sent to this process alone from those sent to its group: a dedicated process of the same group
 * blocks all signals and reports those it has received. kill(-group) reaches the youngest process first, so a signal
 * that has reached this process has already reached the observer process.
 *
 * Not async-signal-safe; one thread. */
struct observer {
    pid_t pid;  /* 0: there is none */
    int socket; /* to it */
};

/* The bit of a signal. */
#define OBSERVED(number) ((uint64_t)1 << ((number) - 1))

/* Start the observer process, with all signals blocked. If the process cannot be created, there is no observer. */
void observer_start(struct observer *observer);

/* Return the signals that it has received since the previous call. */
uint64_t observer_query(struct observer *observer);

void observer_end(struct observer *observer);

struct watch {
    int signals, process;      /* descriptors; process is -1 if there is none */
    const struct child *child; /* the program; NULL for a process that is no child, or none */
    pid_t pid;                 /* of that process, or 0 */
    struct observer observer;
};

/* Block the handled signals and, before a program is started, start the observer process. `before`: the previous mask.
 */
void watch_begin(struct watch *watch, bool has_program, sigset_t *before);

/* Open the descriptors. `pid`: of a process that is no child, or 0. Returns 0 or negative errno. */
int watch_open(struct watch *watch, const struct child *child, pid_t pid);

/* State of a recording: continuing, or how it ended. */
enum end { GOES_ON, ENDED, TIME_IS_UP, STOPPED, FAILED };

/* The first files of a recorder's loop are the watch's own. */
#define WATCH_FILES 2

/* Wait until one of `count` files is ready, a signal arrives, or the time is over (NULL: never), and pass signals on.
 * The first WATCH_FILES are set here. Returns GOES_ON, ENDED, STOPPED (only without a program) or FAILED. */
enum end watch_next(struct watch *watch, struct pollfd *files, nfds_t count, const struct timespec *left);

/* For a program whose recording is over: pass signals on until its end. */
void watch_wait(struct watch *watch);

#endif
