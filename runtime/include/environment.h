/* Settings from the environment. An invalid value prints one line that names it, and the default is used.
 *
 * Not thread-safe (getenv): called once, before main or under the caller's lock. */
#ifndef RUNTIME_ENVIRONMENT_H
#define RUNTIME_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

/* Return the variable's value, or NULL if it is unset or empty. */
const char *environment_text(const char *name);

/* Return the index of the variable's value in `choices` (which ends with NULL), or 0. */
int environment_choice(const char *name, const char *const *choices);

/* Return a boolean: 1, yes, on, true or their opposites. */
bool environment_flag(const char *name, bool fallback);

/* Return a decimal number in billionths, between `low` and `high`. `shown` is the fallback as the user would write
 * it. */
uint64_t environment_nano(const char *name, uint64_t low, uint64_t high, uint64_t fallback, const char *shown);

/* Return a time in nanoseconds, given in seconds as a decimal number, or with a unit such as 250ms or 2m. Otherwise the
 * same. */
uint64_t environment_time(const char *name, uint64_t low, uint64_t high, uint64_t fallback, const char *shown);

/* Return a rate in billionths per second, given as a decimal number, or with a unit such as 250Hz or 1kHz. Otherwise
 * the same. */
uint64_t environment_rate(const char *name, uint64_t low, uint64_t high, uint64_t fallback, const char *shown);

/* Return a rank, or -1. */
int environment_rank(const char *name);

/* Set the log level from a variable: warn (the default), quiet or debug. */
void environment_log_level(const char *name);

/* Print one line: the value is invalid, and `fallback` is used instead. */
void environment_complain(const char *name, const char *value, const char *fallback);

/* Parse a decimal number such as 0.25 into billionths. False if it is invalid or above `limit`. Pure. */
bool environment_parse_nano(const char *text, uint64_t limit, uint64_t *nano);

/* Parse a time such as 0.25, 250ms, 100us, 2m or 1h into nanoseconds. False if it is invalid or above `limit`. Pure. */
bool environment_parse_time(const char *text, uint64_t limit, uint64_t *nano);

/* Parse a rate such as 250, 250Hz or 1kHz into billionths per second. False if it is invalid or above `limit`. Pure. */
bool environment_parse_rate(const char *text, uint64_t limit, uint64_t *nano);

#endif
