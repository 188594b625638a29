/* Properties of a running process, from /proc. */
#ifndef OUTSIDE_TARGET_H
#define OUTSIDE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Return whether it can be recorded from outside, and the path of its program in exe[PATH_MAX]. False after one line on
 * stderr: no such process, it has ended, or it is a thread, a kernel thread, 32-bit, another user's, or this
 * process. */
bool target_read(pid_t pid, char *exe);

/* Return the file of its program in exe[PATH_MAX]. False if access is denied, or the file does not exist. */
bool target_exe(pid_t pid, char *exe);

/* Return its name in the kernel; empty if it no longer exists. */
void target_name(pid_t pid, char *name, size_t size);

/* Return its program's entry point (AT_ENTRY), or 0. */
uint64_t target_entry(pid_t pid);

/* Return its current directory in path[size], or the empty string. */
void target_directory(pid_t pid, char *path, size_t size);

/* Return the CPU time of all its threads so far, including ended ones; 0 if the process no longer exists. */
uint64_t target_cpu_ns(pid_t pid);

/* Return whether it is stopped, by a signal or a debugger. */
bool target_is_stopped(pid_t pid);

#endif
