/* The life of a recording: start, one image per interval from a dedicated thread, fork, end. */
#ifndef INCPROF_COLLECTOR_H
#define INCPROF_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>

enum start {
    START_LINKED, /* the program is linked with -pg and starts the recording */
    START_CHOSEN, /* the program was chosen (hooks.h): its libraries are its own code, too, except shared ones */
    START_OF_JOB  /* the same, as one of a command's many programs: nothing is read or written before its first tick */
};

/* Read the environment, claim the run directory and start to record. Does nothing when called again, when disabled or
 * when this rank or program is not selected. Not thread-safe: called before main. */
void collector_start(enum start start);

/* Write the open interval, the last one, and end the recording. Async-signal-safe and thread-safe: never waits for more
 * than two seconds, after which the open interval is discarded. Does nothing in a vfork child. */
void collector_stop(void);

/* Note the output that libc writes after that. At exit, not async-signal-safe. */
void collector_note_buffers(void);

/* The same as collector_stop while the program continues, with one line on stderr that gives the reason. */
void collector_end(const char *why);

/* The same before an exec, with the signals set as the new program is to inherit them; the recording continues if the
 * exec fails. `file` is a path, a name to be looked up in PATH, or NULL. Nothing is written between the two calls: it
 * would follow the end record, and the exec would cut it off. Async-signal-safe and thread-safe. */
void collector_before_exec(const char *file, char *const envp[]);
void collector_after_exec(void);

/* Surround a call that the kernel refuses to processes with several threads: end the interval thread before it, and
 * start another one after it. Returns false and does nothing if nothing is recorded or the application itself has
 * several threads. Waits for two seconds at most; signals are blocked in between. */
bool collector_end_thread(void);
void collector_restart_thread(void);

/* moncontrol(3): turn sampling and counting off or on again. Thread-safe. */
void collector_pause(bool paused);

/* Resolve addresses in newly loaded libraries, before one is unloaded. Waits for the interval thread. Thread-safe. */
void collector_look_up(void);

/* Resolve the recorded addresses after libraries were unloaded, before other code takes their place. `unloaded`: number
 * of ranges of the current map that they had, if nothing else has changed; 0: unknown. Waits for the interval thread.
 * Thread-safe. */
void collector_remap(size_t unloaded);

#endif
