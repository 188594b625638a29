/* The life of a recording: start, one image per interval from a thread of its own, fork, end. */
#ifndef INCPROF_COLLECTOR_H
#define INCPROF_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>

enum start {
    START_LINKED, /* the program is linked with -pg, and asks for it */
    START_CHOSEN, /* it does not know (chosen.h): its libraries are its own code, too, but for those that all have */
    START_OF_JOB  /* so does one of many that a command starts, and nothing is read or written before its first tick */
};

/* Reads the environment, claims the run directory and starts to record. Does nothing when called again, when disabled
 * or when this rank or program is not wanted. Not thread-safe: called before main. */
void collector_start(enum start start);

/* Has the last, open interval written and ends the recording. Async-signal-safe and thread-safe: never waits for more
 * than two seconds, after which the open interval is given up. Does nothing in a vfork child. */
void collector_stop(void);

/* The same while the program goes on, with one line on stderr that says why. */
void collector_end(const char *why);

/* The same before an exec, with the signals as the new program is to inherit them; the recording goes on if it fails.
 * `file` is a path, a name to be looked up in PATH, or NULL.
 * What is written between the two calls would cost the clean end, and be torn by the exec. Async-signal-safe and
 * thread-safe. */
void collector_before_exec(const char *file, char *const envp[]);
void collector_after_exec(void);

/* Around a call that the kernel refuses to processes with several threads: the interval thread ends, and another one
 * goes on. False, and nothing has happened, where nothing is recorded or the application has several threads itself.
 * Waits for two seconds at most; signals are blocked in between. */
bool collector_leave(void);
void collector_come_back(void);

/* moncontrol(3): sampling and counting off or on again. Thread-safe. */
void collector_pause(bool paused);

/* Libraries have come, and one may go: what happened in them is looked up. Waits for the interval thread. Thread-safe.
 */
void collector_look_up(void);

/* Libraries have gone: what was recorded so far is looked up before anything else can be in their place. `gone`: how
 * many ranges of the current map they were, if nothing else has changed; 0: not known. Waits for the interval thread.
 * Thread-safe. */
void collector_remap(size_t gone);

#endif
