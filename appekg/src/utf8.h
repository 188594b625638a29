/* UTF-8, as far as is needed to write nothing else: one wrong byte, and a collector refuses the whole file. Pure. */
#ifndef EKG_UTF8_H
#define EKG_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* How many bytes the character at `text` has; 0 if it is none. The end of the text is a character of one byte. */
static inline size_t utf8_character(const unsigned char *text)
{
    size_t length = *text < 0x80 ? 1 : *text >= 0xc2 && *text < 0xe0 ? 2 : (*text & 0xf0) == 0xe0 ? 3 : 4;
    if (length == 4 && (*text < 0xf0 || *text > 0xf4))
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (*text == 0xe0 && text[1] < 0xa0) || (*text == 0xf0 && text[1] < 0x90);
    bool no_character = (*text == 0xed && text[1] >= 0xa0) || (*text == 0xf4 && text[1] >= 0x90);
    return overlong || no_character ? 0 : length;
}

/* Copies whole characters, as many as fit into `size` bytes with the zero; what is none becomes a question mark. */
static inline void utf8_copy(char *into, size_t size, const char *text)
{
    size_t length = 0;
    while (*text != '\0') {
        size_t bytes = utf8_character((const unsigned char *)text);
        size_t step = bytes > 0 ? bytes : 1;
        if (length + step >= size)
            break;
        memcpy(into + length, bytes > 0 ? text : "?", step);
        length += step;
        text += step;
    }
    into[length] = '\0';
}

#endif
