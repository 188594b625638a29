/* The open interval: taking what threads have recorded into it, and closing it.
 *
 * Everything here is for the holder of the collector's lock (collector_lock.h), that is, for the interval thread; and
 * for the start and a forked child's, when there is no such thread yet.
 */
#ifndef INCPROF_COLLECTION_H
#define INCPROF_COLLECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "launch.h"
#include "recording.h"

/* Begins the recording of this process, and its first interval. `config` and `launch` stay where they are. */
void collection_begin(const struct config *config, struct launch *launch, bool forked, enum opening opening);

/* When the recording began, on CLOCK_MONOTONIC. */
uint64_t collection_start_ns(void);

/* Where the file is open, from a thread before this one, it is written to again. */
void collection_go_on(void);

/* Opens the file before there is an interval to write: the copies of the symbols take a while. At the start, or later
 * (`is_start`), as the recording is to be opened. */
void collection_open_early(bool is_start);

/* Looks for code that the program has loaded, if somebody has asked, and copies its symbols. */
void collection_scan(void);

/* Empties the rings, and sees to what has come up meanwhile. */
void collection_drain(void);

/* Drains, writes the open interval and begins the next one. Where nothing can be written any more, the recording stops.
 */
void collection_close_interval(void);

/* Closes the open interval at `from_ns`, and begins the next one at `until_ns`: the process stood still in between.
 * False where samples say that it has run. */
bool collection_leave_out(uint64_t from_ns, uint64_t until_ns);

/* Closes the interval now, and ends the recording. */
void collection_close(void);

/* After that: the line with which a recording ends, if it is this process's to say. */
void collection_tell(void);

/* The same of a recording that could not go on, when the program ends: it has used CPU time since. */
void collection_tell_late(void);

/* Without a file, and with nothing to put into it. */
bool collection_is_blank(void);

/* Code has been loaded, and some may go: it is looked at if anything has happened in it. */
void collection_look_up(void);

/* Code has been unloaded: another may be where it was. */
void collection_remap(void);

/* Samples and calls count from here on, or do not (moncontrol). */
void collection_pause(bool paused);

/* Gives back what is the interval thread's alone: it is about to end, and another one to go on. */
void collection_park(void);

/* The file's descriptor among the interval thread's, or -1; and what it is among those of the next one. */
int collection_file(void);
void collection_set_file(int fd);

/* In a forked child: nothing has been taken. */
void collection_forget(void);

#endif
