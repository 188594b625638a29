/* Messages to the user: one line each on stderr, by one write, `<library>: <what>[: <detail>]`. A program that was
 * started without stderr, or that has closed or replaced it, gets none, except for messages right after that
 * (log_keep_stderr). Unprintable and invalid UTF-8 is shown as question marks. */
#ifndef RUNTIME_LOG_H
#define RUNTIME_LOG_H

#include <stdbool.h>

enum log_level { LOG_QUIET, LOG_WARN, LOG_DEBUG };

/* Set the library's name. Once, before the first message. The original stderr has been recorded before main. */
void log_start(const char *library);

void log_set_level(enum log_level level);

/* Keep a copy of stderr in the detached thread, in this process and not in its children, for messages after the program
 * has closed it, as many do last (coreutils, xz). Before that thread is started. */
void log_keep_stderr(void);

/* For that thread, before it closes the application's descriptors: return the copy's number, at least 3, or a negative
 * one. */
int log_copy_stderr(void);

/* For that thread, ten times a second: close the copy one second after the program has closed or replaced its stderr,
 * so that a reader of stderr reaches the end of file. On a busy machine an ending program may reach its next
 * instruction late. */
void log_follow_stderr(void);

/* Declare that the calling thread has its own descriptor table: its messages go to the other threads' stderr. */
void log_detach(void);

/* For any other thread: print the messages for which the detached one had no descriptor. Async-signal-safe and
 * thread-safe. */
void log_write_pending(void);

/* Print a message. `detail` may be NULL. False: there was no descriptor, and the buffer for unprinted messages was in
 * use. Like log_error, async-signal-safe and thread-safe. */
bool log_warn(const char *what, const char *detail);
void log_debug(const char *what, const char *detail);

/* Print a message as log_warn does, with the text of the kernel's error (negative errno). */
void log_error(const char *what, const char *detail, long error);

/* Texts of the kernel's errors. */

/* Return the text of libc's strerror for a negative errno that the libraries can encounter, or else its number,
 * formatted in `number`. Async-signal-safe and thread-safe. */
const char *reason_of(long error, char number[32]);

/* Return the name: "EACCES" for -EACCES, "unknown error" for numbers in no table. Async-signal-safe. */
const char *reason_name(long error);

#endif
