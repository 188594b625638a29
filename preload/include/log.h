/* Messages to the user: one line each on stderr, by one write, `incprof: <what>[: <detail>]`. */
#ifndef INCPROF_LOG_H
#define INCPROF_LOG_H

enum log_level { LOG_QUIET, LOG_WARN, LOG_DEBUG };

void log_set_level(enum log_level level);

/* Both are async-signal-safe and thread-safe. `detail` may be NULL. */
void log_warn(const char *what, const char *detail);
void log_debug(const char *what, const char *detail);

/* As log_warn, with the kernel's error (negative errno) in words. */
void log_error(const char *what, const char *detail, long error);

#endif
