/* Messages to the user: one line each on stderr, by one write, `<library>: <what>[: <detail>]`. A program that was
 * started without stderr, or that has closed it or put something else in its place, gets none. What is not printable in
 * UTF-8 is shown as question marks. */
#ifndef RUNTIME_LOG_H
#define RUNTIME_LOG_H

enum log_level { LOG_QUIET, LOG_WARN, LOG_DEBUG };

/* Remembers who speaks. Once, before the first message. What stderr is, is known since before main. */
void log_start(const char *library);

void log_set_level(enum log_level level);

/* The calling thread has descriptors of its own: its messages go to the other threads' stderr. */
void log_detach(void);

/* Both are async-signal-safe and thread-safe. `detail` may be NULL. */
void log_warn(const char *what, const char *detail);
void log_debug(const char *what, const char *detail);

/* As log_warn, with the kernel's error (negative errno) in words. */
void log_error(const char *what, const char *detail, long error);

#endif
