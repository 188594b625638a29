/* What a process is that runs already, as /proc shows it. */
#ifndef ATTACH_TARGET_H
#define ATTACH_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether it can be recorded from outside, and then the path of its program in exe[PATH_MAX]. False after one line on
 * stderr: there is none, it has ended, it is a thread, the kernel's, 32-bit, another user's, or this process. */
bool target_look(pid_t pid, char *exe);

/* The file of its program, in exe[PATH_MAX]. False where it may not be seen, or is not there. */
bool target_exe(pid_t pid, char *exe);

/* Its name, as the kernel has it; empty where it is gone. */
void target_name(pid_t pid, char *name, size_t size);

/* Where its program starts (AT_ENTRY), or 0. */
uint64_t target_entry(pid_t pid);

/* Its current directory in path[size], or the empty string. */
void target_directory(pid_t pid, char *path, size_t size);

/* CPU time of all its threads so far, those that have ended too; 0 where the process is gone. */
uint64_t target_cpu_ns(pid_t pid);

/* Whether it is stopped, by a signal or a debugger. */
bool target_is_stopped(pid_t pid);

#endif
