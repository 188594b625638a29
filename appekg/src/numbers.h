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

/* Nanoseconds as seconds, exactly: 1.000061000 */
static inline void put_seconds(struct buffer *out, uint64_t ns)
{
    char fraction[] = ".000000000";
    uint64_t rest = ns % 1000000000u;
    for (int digit = 9; digit >= 1; digit--, rest /= 10)
        fraction[digit] = (char)('0' + rest % 10);
    buffer_decimal(out, ns / 1000000000u);
    buffer_text(out, fraction);
}

#endif
