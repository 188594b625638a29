/* The objects that the loader has in this process: the program and its libraries.
 *
 * Thread-safe; not async-signal-safe. All take the loader's lock for the list of objects, which is not held while
 * constructors and destructors run. */
#ifndef RUNTIME_LOADED_H
#define RUNTIME_LOADED_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object {
    const char *path; /* the loader's own text: empty for the program */
    uint64_t base;    /* the load offset */
    uint64_t start, end;
    uint64_t low, high; /* the segment that contains the address */
    size_t number;      /* in the loader's list, from 1 on */
    const ElfW(Phdr) * segments;
    int count;
};

/* Find the object that contains `address`; false if it is in no file. `path` and `segments` are valid while the object
 * is loaded. */
bool object_at(uint64_t address, struct object *object);

/* The same for an object that another thread may unload: `use` reads it while the loader waits, and must not call the
 * loader. */
bool object_use_at(uint64_t address, void (*use)(const struct object *object, void *context), void *context);

/* Write the build-id in hexadecimal, empty if there is none or no room. Only reads memory. */
void object_build_id(const struct object *object, char *text, size_t room);

/* Return the numbers of objects loaded and unloaded so far. */
struct loader_counts {
    unsigned long long loads, unloads;
};
struct loader_counts loader_counts(void);

/* The linker's build-id in an object's notes. */

/* Find it in a note segment, which holds several notes, and write it in hexadecimal into text[room]; false, and an
 * empty text, if there is none or no room. Reads nothing beyond `size`. Async-signal-safe and thread-safe. */
bool build_id_text(const void *notes, size_t size, char *text, size_t room);

#endif
