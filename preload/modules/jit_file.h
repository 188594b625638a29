/* Files in which a program names the code that it makes as it runs: they grow, or are written anew, while they are
 * read. Anybody may have put anything there. Interval thread; async-signal-safe. */
#ifndef INCPROF_JIT_FILE_H
#define INCPROF_JIT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process as it sees itself: its number there, and whose it is. */
struct jit_process {
    pid_t pid; /* 0: the calling process */
    pid_t inner;
    uid_t owner;
};

#define JIT_FILE_TAIL 16

/* How far a file has been read. */
struct jit_file {
    uint64_t inode, read;
    uint8_t tail[JIT_FILE_TAIL]; /* the bytes before that */
    bool is_damaged;             /* from there on */
};

/* Opens what the process calls `path`, if it is its user's plain file and has more than has been read; one that was
 * written anew is read from its beginning. The descriptor, or negative errno. */
int jit_file_open(struct jit_file *file, const struct jit_process *process, const char *path, uint64_t *size);

/* So many bytes more have been read. */
void jit_file_advance(struct jit_file *file, int fd, uint64_t bytes);

#endif
