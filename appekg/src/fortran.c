/* Binding for which Fortran's bind(C) does not suffice: a name in an ordinary string, which has a length but no
 * terminator. */
#include "appekg.h"

#include <string.h>

#define MOST_BYTES 123u /* ekg_name keeps 119; the last character may need three more */

__attribute__((visibility("default"))) void ekg_name_(const int32_t *id, const char *name, size_t length);

/* ekg_name for the module appekg. gfortran, flang and ifx append an underscore to the name, and the length to the
 * arguments; some pass an int and leave the upper half of the register undefined. Trailing blanks are not part of the
 * name. Not async-signal-safe. */
void ekg_name_(const int32_t *id, const char *name, size_t length)
{
    char text[MOST_BYTES + 1];
    size_t size = (uint32_t)length;
    while (size > 0 && name[size - 1] == ' ')
        size--;
    if (size > MOST_BYTES)
        size = MOST_BYTES;
    memcpy(text, name, size);
    text[size] = '\0';
    ekg_name((uint32_t)*id, text);
}
