/* Text in a fixed room, cut where it does not fit. Async-signal-safe. */
#ifndef RUNTIME_FIXED_TEXT_H
#define RUNTIME_FIXED_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Behind what there is in text[size]. */
void text_append(char *text, size_t size, const char *more);

/* The same in decimal, of so many digits at least. */
void text_append_number(char *text, size_t size, uint64_t number, int digits);

#endif
