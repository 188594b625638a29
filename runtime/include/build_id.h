/* The linker's build-id in an object's notes. */
#ifndef RUNTIME_BUILD_ID_H
#define RUNTIME_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>

/* Find it in a note segment, which holds several notes, and write it in hexadecimal into text[room]; false, and an
 * empty text, if there is none or no room. Reads nothing beyond `size`. Async-signal-safe and thread-safe. */
bool build_id_text(const void *notes, size_t size, char *text, size_t room);

#endif
