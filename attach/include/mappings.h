/* What a process has mapped executable, as a text such as /proc/PID/maps holds: lines in the order of their addresses.
 */
#ifndef ATTACH_MAPPINGS_H
#define ATTACH_MAPPINGS_H

#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"

struct mappings {
    struct buffer text;
    size_t read, added; /* lines of it when it was read from the kernel, and since */
};

struct mapped {
    uint64_t start, bytes, offset, inode;
    const char *path;
};

/* As it is now. What cannot be read is empty. */
void mappings_read(struct mappings *mappings, pid_t pid);

/* Adds a mapping of a process in the place of what it overlaps. The kernel does not report which are gone, so all are
 * read again once as many have been added as there were. */
void mappings_add(struct mappings *mappings, const struct mapped *mapped, pid_t pid);

/* A copy; `to` is empty before. */
void mappings_copy(struct mappings *to, const struct mappings *from);

/* It has none any more. */
void mappings_forget(struct mappings *mappings);

#endif
