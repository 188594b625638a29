/* What a process has mapped executable, as a text such as /proc/PID/maps holds: lines in the order of their addresses.
 */
#ifndef ATTACH_MAPPINGS_H
#define ATTACH_MAPPINGS_H

#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"

struct mapped {
    uint64_t start, bytes, offset, inode;
    const char *path;
};

/* As it is now. What cannot be read is empty. */
void mappings_read(struct buffer *text, pid_t pid);

/* One more, in the place of what it overlaps. */
void mappings_add(struct buffer *text, const struct mapped *mapped);

/* A copy; `to` is empty before. */
void mappings_copy(struct buffer *to, const struct buffer *from);

#endif
