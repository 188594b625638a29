/* Settings from the environment. A bad value costs one line that names it, and its default is used.
 *
 * Not thread-safe (getenv): called once, before main or under the caller's lock. */
#ifndef RUNTIME_ENVIRONMENT_H
#define RUNTIME_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

/* The variable's value, or NULL when it is unset or empty. */
const char *environment_text(const char *name);

/* The index of the variable's value in `choices` (which ends with NULL), or 0. */
int environment_choice(const char *name, const char *const *choices);

/* 1, yes, on, true and their opposites. */
bool environment_flag(const char *name, bool fallback);

/* A decimal number in billionths, between `low` and `high`. `shown` is the fallback as the user would write it. */
uint64_t environment_nano(const char *name, uint64_t low, uint64_t high, uint64_t fallback, const char *shown);

/* A time in nanoseconds: seconds as a decimal number, or one with a unit such as 250ms or 2m. Otherwise the same. */
uint64_t environment_time(const char *name, uint64_t low, uint64_t high, uint64_t fallback, const char *shown);

/* A rate in billionths per second: a decimal number, or one with a unit such as 250Hz or 1kHz. Otherwise the same. */
uint64_t environment_rate(const char *name, uint64_t low, uint64_t high, uint64_t fallback, const char *shown);

/* A rank, or -1. */
int environment_rank(const char *name);

/* Sets the log level from a variable that holds warn (the default), quiet or debug. */
void environment_log_level(const char *name);

/* Says in one line that the value is not valid, and what is used instead. */
void environment_complain(const char *name, const char *value, const char *fallback);

/* A decimal number such as 0.25 in billionths. False if it is none or above `limit`. Pure. */
bool environment_parse_nano(const char *text, uint64_t limit, uint64_t *nano);

/* A time such as 0.25, 250ms, 100us, 2m or 1h in nanoseconds. False if it is none or above `limit`. Pure. */
bool environment_parse_time(const char *text, uint64_t limit, uint64_t *nano);

/* A rate such as 250, 250Hz or 1kHz in billionths per second. False if it is none or above `limit`. Pure. */
bool environment_parse_rate(const char *text, uint64_t limit, uint64_t *nano);

#endif
