/* UTF-8, as far as is needed to write nothing else: one wrong byte, and a collector refuses the whole file. Pure. */
#ifndef RUNTIME_UTF8_H
#define RUNTIME_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The character at `text`, of *length bytes; 0, of one byte, where there is none, and at the end of the text. */
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

/* Copies whole characters, as many as fit into `size` bytes with the zero; what is none becomes a question mark. */
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
