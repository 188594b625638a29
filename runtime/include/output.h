/* Files of the run directory. Descriptors are those of the interval thread, which has a table of its own: what the
 * application opens and closes is out of reach, and the other way round. Async-signal-safe; called by that thread. */
#ifndef RUNTIME_OUTPUT_H
#define RUNTIME_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "launch.h"

/* An append-only file. */
struct output {
    int fd;
    uint64_t length; /* what is in it, always whole images */
    bool is_torn;    /* and what could not be cut off */
};

/* Creates a file that does not exist yet. 0 or negative errno. */
long output_create(struct output *output, const char *path);

/* Creates the file of a rank in its run directory: rank-00000<suffix>, or where that is taken or for `another` process
 * of the rank rank-00000.<pid><suffix>, rank-00000.<pid>-2<suffix>, ... 0 or negative errno. */
long output_create_for_rank(struct output *output, const struct launch *launch, const char *suffix, bool another);

/* Appends by one write. On failure the file is cut back to what it held, and the error is returned. */
long output_append(struct output *output, const struct buffer *data);

/* Cuts the file back to `length` bytes. 0 or negative errno. */
long output_cut(struct output *output, uint64_t length);

/* Writes a file whole: under another name first, then renamed. An existing one is kept if `keep`. */
long output_write_file(const char *path, const struct buffer *data, bool keep);

/* directory + "/" + name (+ "." + number for each number >= 0) + suffix into path[PATH_MAX]. */
void output_name(char *path, const char *directory, const char *name, const char *suffix);

#endif
