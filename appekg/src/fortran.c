/* What Fortran cannot say by bind(C): a name in an ordinary string, which has a length and no end. */
#include "appekg.h"

#include <string.h>

#define MOST_BYTES 123u /* ekg_name keeps 119; a character that begins in them may need three more */

__attribute__((visibility("default"))) void ekg_name_(const int32_t *id, const char *name, size_t length);

/* ekg_name for the module appekg. gfortran, flang and ifx put an underscore behind the name, and the length behind the
 * arguments; to some of them it is an int, and the upper half of the register is not theirs. Blanks that fill up the
 * string are no part of the name. Not async-signal-safe. */
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
