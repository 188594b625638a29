/* The file of an ELF object that a process has mapped, in this process or in another one. */
#ifndef INCPROF_OBJECT_FILE_H
#define INCPROF_OBJECT_FILE_H

#include <sys/types.h>

#include "elf_file.h"

struct object_file {
    const char *path; /* as the process has it */
    pid_t pid;        /* whose, or 0: this process's */
    uint64_t inode;   /* of the file that was mapped */
    bool is_program;  /* what the process runs */
};

/* Opens it. Another process's may have another file system (a container's). False where the file is not to be had any
 * more. Async-signal-safe. */
bool object_file_open(struct elf_file *elf, const struct object_file *file);

#endif
