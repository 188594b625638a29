#include "fixed_text.h"

#include <string.h>

void text_append(char *text, size_t size, const char *more)
{
    size_t length = strlen(text);
    size_t room = strnlen(more, size - 1 - length);
    memcpy(text + length, more, room);
    text[length + room] = '\0';
}

void text_append_number(char *text, size_t size, uint64_t number, int digits)
{
    char decimal[24];
    size_t at = sizeof decimal;
    decimal[--at] = '\0';
    for (int digit = 0; digit < digits || number > 0; digit++, number /= 10)
        decimal[--at] = (char)('0' + number % 10);
    text_append(text, size, decimal + at);
}
