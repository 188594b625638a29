/* Text in a fixed buffer, truncated if necessary. Async-signal-safe. */
#ifndef RUNTIME_FIXED_TEXT_H
#define RUNTIME_FIXED_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Append to text[size]. */
void text_append(char *text, size_t size, const char *more);

/* Append a decimal number, of at least `digits` digits. */
void text_append_number(char *text, size_t size, uint64_t number, int digits);

/* UTF-8 functions that keep output valid: for one invalid byte a metrics collector rejects the whole file. Pure. */

/* Return the character at `text`, of *length bytes; 0, of one byte, if it is invalid, and at the end of the text. */
static inline uint32_t utf8_decode(const char *text, size_t *length)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    size_t bytes = at[0] < 0x80 ? 1 : at[0] >> 5 == 6 ? 2 : at[0] >> 4 == 14 ? 3 : at[0] >> 3 == 30 ? 4 : 0;
    *length = 1;
    if (bytes <= 1)
        return bytes == 1 ? at[0] : 0;
    uint32_t code = at[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if (at[i] >> 6 != 2)
            return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return 0;
    *length = bytes;
    return code;
}

/* Copy as many whole characters as fit into `size` bytes with the terminating zero; invalid bytes become question
 * marks. */
static inline void utf8_copy(char *into, size_t size, const char *text)
{
    size_t at = 0;
    while (*text != '\0') {
        size_t length;
        const char *as = utf8_decode(text, &length) != 0 ? text : "?";
        if (at + length >= size)
            break;
        memcpy(into + at, as, length);
        at += length;
        text += length;
    }
    into[at] = '\0';
}

#endif
