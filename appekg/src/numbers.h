/* Numbers as text, without libc: for the interval thread. */
#ifndef EKG_NUMBERS_H
#define EKG_NUMBERS_H

#include <stdint.h>

#include "buffer.h"

/* Exact below 2^64; above, that many digits and an exponent. Not negative. */
static inline void put_double(struct buffer *out, double value)
{
    uint64_t exponent = 0;
    for (; value >= 1.8e19; exponent++)
        value /= 10;
    buffer_decimal(out, (uint64_t)(value + 0.5));
    if (exponent == 0)
        return;
    buffer_u8(out, 'e');
    buffer_decimal(out, exponent);
}

#endif
