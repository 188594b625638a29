/* The kernel's errors in words. */
#ifndef RUNTIME_REASON_H
#define RUNTIME_REASON_H

/* What libc's strerror says of a negative errno, of those that the libraries can meet; of others their number. Room for
 * it is in `number`. Async-signal-safe and thread-safe. */
const char *reason_of(long error, char number[32]);

/* "EACCES" for -EACCES, "unknown error" for what is in no table. Async-signal-safe. */
const char *reason_name(long error);

#endif
