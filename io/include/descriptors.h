/* The files that an application's calls read and write: a number for each name, and the number of each descriptor.
 *
 * Thread-safe and async-signal-safe. errno is kept. */
#ifndef INCPROF_IO_DESCRIPTORS_H
#define INCPROF_IO_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

/* Numbers of files. Names begin with FIRST_NAME. */
enum { FILE_NONE, FILE_OTHER, FIRST_NAME };

/* Return the number of an open descriptor's file: FILE_OTHER if there are too many names, FILE_NONE if it is not open.
 * The first call for a descriptor asks the kernel. */
uint32_t descriptor_file(int fd);

/* Return the number of a name that is no file's, among those of files. */
uint32_t descriptor_name(const char *name, size_t length);

/* Forget the descriptor's former file: it was opened by this path; NULL: another way, or relative to a directory. */
void descriptor_opened(int fd, const char *path);

/* Forget a descriptor that was opened or closed, and all of a range. Does nothing in a vfork child, whose descriptors
 * are not this process's. */
void descriptor_forget(int fd);
void descriptor_forget_range(unsigned int first, unsigned int last);

/* Give `copy` the file of `fd`, after a call of the dup family. */
void descriptor_copy(int fd, int copy);

/* Append a record of kind 11 with the names that there are since the last call. For the interval thread. */
void descriptor_put_names(struct buffer *out);

/* In a forked child: all names are new to its stream. */
void descriptors_after_fork(void);

#endif
