/* Data from /proc: a process and its descendants, their threads, and the whole machine. One thread at a time; not
 * async-signal-safe. */
#ifndef OUTSIDE_PROC_H
#define OUTSIDE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "events.h"

/* Parsing of /proc files. All async-signal-safe and thread-safe; none reads beyond the text's end. */

/* Read the whole file from its start, as text. Returns its length or negative errno. */
long text_read(int fd, char *into, size_t size);

/* The same for a list file, of which the kernel returns at most one page per read. */
long text_read_all(int fd, char *into, size_t size);

/* Open a file below `directory` (or AT_FDCWD) for reading. Returns a descriptor or negative errno. */
int text_open(int directory, const char *path);

/* Return the number at `text`, after blanks; 0 if there is none. */
uint64_t text_number(const char *text);

/* Return the start of word `n`, from 0, or the text's end. */
const char *text_word(const char *text, int n);

/* Return a stat text from the state on, which becomes word 0; the name before it may contain any characters. */
const char *text_state(const char *stat);

/* Return the number after "key:" or "key ", or 0. */
uint64_t text_value(const char *text, const char *key);

/* Threads of the followed processes: which of them are running, and on which processor. One thread at a time; no
 * allocation. */

/* Iterator over the ids in a directory of /proc: 0 at the end, negative errno on failure. */
struct tids {
    int fd;
    long filled, at;
    char entries[4096] __attribute__((aligned(8)));
};

pid_t tids_first(struct tids *tids);
pid_t tids_next(struct tids *tids);

/* Follow a thread if it is not followed yet; `task` is the process's directory. False if there are too many. */
bool threads_enter(pid_t process, int task, pid_t tid);

/* Stop following the threads of a process. */
void threads_forget(pid_t process);

/* Count the threads that are running or runnable, and their processors. Ended threads are dropped. */
void threads_read(double *running, double *processors);

/* The bit of a requested field. */
#define TREE_WANTS(field) (1u << (field))

/* Begin with one process. Returns 0, or negative errno of the first file that cannot be read for a requested field. */
int tree_start(pid_t root);
int tree_probe(enum field field);

/* Select the fields that tree_read returns. */
void tree_want(uint32_t fields);

/* Scan for processes and threads that are new or have ended. Descriptors are opened here; no allocation. */
void tree_scan(void);

/* Read the threads' states into values[ACTIVE_CPUS] and values[RUNNING_THREADS]. No allocation. */
void tree_update(double *values);

/* Sum over the living processes into values[FIELDS], only up to ACTIVE_CPUS. False, and values unchanged, once the
 * first process cannot be read any more. No allocation. */
bool tree_read(double *values);

/* Return whether there were more processes or threads than can be followed, or than free descriptors. */
bool tree_is_full(void);

/* Return the file of /proc/PID that contains a field. Thread-safe. */
const char *tree_file(enum field field);

/* Machine-wide data from /proc. One thread at a time; no allocation once probed; not async-signal-safe. */

/* Return the file that contains a field, or NULL if only programs have it. Thread-safe. */
const char *machine_file(enum field field);

/* Open the field's file and read it once. Returns 0 or negative errno; -ENODEV: no network interface except lo. */
int machine_probe(enum field field);

/* Fill in the fields of values[FIELDS] whose files have been opened. */
void machine_read(double *values);

/* Properties of a running process, from /proc. */

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
