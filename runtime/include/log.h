/* Messages to the user: one line each on stderr, by one write, `<library>: <what>[: <detail>]`. A program that was
 * started without stderr, or that has closed it or put something else in its place, gets none, but for what is said
 * right after that (log_keep_stderr). What is not printable in UTF-8 is shown as question marks. */
#ifndef RUNTIME_LOG_H
#define RUNTIME_LOG_H

#include <stdbool.h>

enum log_level { LOG_QUIET, LOG_WARN, LOG_DEBUG };

/* Remembers who speaks. Once, before the first message. What stderr is, is known since before main. */
void log_start(const char *library);

void log_set_level(enum log_level level);

/* Many programs close stderr as the last thing that they do (coreutils', xz). For what is said after that, the thread
 * that detaches keeps a copy, in this process and not in its children. Before that thread is started. */
void log_keep_stderr(void);

/* By that thread, before it closes what it has from the application: the copy's number, at least 3, or negative. */
int log_copy_stderr(void);

/* By that thread, ten times a second: gives the copy back a second after the program has closed its stderr, or has put
 * another one in its place, so that whoever reads it until its end is not kept waiting. On a busy machine a program
 * that ends may come to its next instruction late. */
void log_follow_stderr(void);

/* The calling thread has descriptors of its own: its messages go to the other threads' stderr. */
void log_detach(void);

/* By any other thread: what the detached one had no descriptor to say it by. Async-signal-safe and thread-safe. */
void log_say_what_is_left(void);

/* Both are async-signal-safe and thread-safe. `detail` may be NULL. False: there was no descriptor to say it by, and
 * more is left already. */
bool log_warn(const char *what, const char *detail);
void log_debug(const char *what, const char *detail);

/* As log_warn, with the kernel's error (negative errno) in words. */
void log_error(const char *what, const char *detail, long error);

#endif
