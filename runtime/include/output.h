/* Files of the run directory. Descriptors are those of the interval thread, which has a table of its own: what the
 * application opens and closes is out of reach, and the other way round. Async-signal-safe; called by that thread. */
#ifndef RUNTIME_OUTPUT_H
#define RUNTIME_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "launch.h"

/* An append-only file. */
struct output {
    int fd;
    uint64_t length; /* what is in it, always whole images */
    bool is_torn;    /* and what could not be cut off */
    bool is_shared;  /* others append to it as well: nothing is cut off, and `length` is not kept */
};

/* Creates a file that does not exist yet. 0 or negative errno. */
long output_create(struct output *output, const char *path);

/* What tells the files of a rank's processes, and of the programs that a process becomes, from each other: puts
 * nothing,
 * .<pid>, .<pid>-2, ... behind the name, for attempts 0, 1, 2, ... below OUTPUT_MOST_NAMES. */
void output_append_process(char *name, size_t size, const struct launch *launch, uint64_t attempt);

#define OUTPUT_MOST_NAMES 10000u

/* Creates the file of a rank in its run directory: rank-00000<suffix>, or where that is taken or for `another` process
 * of the rank rank-00000.<pid><suffix>, rank-00000.<pid>-2<suffix>, ... 0 or negative errno. */
long output_create_for_rank(struct output *output, const struct launch *launch, const char *suffix, bool another);

/* Appends by one write. On failure the file is cut back to what it held, and the error is returned. In a shared file,
 * what was written in part stays there: it is followed by all of it, or by what others append. */
long output_append(struct output *output, const struct buffer *data);

/* Cuts the file back to `length` bytes. 0 or negative errno. */
long output_cut(struct output *output, uint64_t length);

/* Writes a file whole: under a name of its own first, then renamed. An existing one is kept if `keep` (-EEXIST). 0 or
 * negative errno. */
long output_write_file(const char *path, const struct buffer *data, bool keep);

/* What writing it would meet before there is anything to write, as far as that can be known. 0 or negative errno. */
long output_try_file(const char *path);

/* directory + "/" + name (+ "." + number for each number >= 0) + suffix into path[PATH_MAX]. */
void output_name(char *path, const char *directory, const char *name, const char *suffix);

#endif
