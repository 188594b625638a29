/* A host program that does what its arguments say: `host work:100 fork:2 exit:3`. What it prints depends on these words
 * alone, never on time, on addresses or on process numbers: two runs can be compared byte for byte.
 *
 * An action takes one number (0 when none is given) and says what came of it in a line. Calls of `tick` and heartbeats
 * are counted in the ledger as well, a file in shared memory that survives whatever happens to the process. */
#ifndef HOST_H
#define HOST_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef HEARTBEATS
#include <appekg.h>
#else
#define ekg_begin(id) ((void)(id))
#define ekg_end(id) ((void)(id))
#endif

struct action {
    const char *name;
    void (*act)(long number);
};

/* Each file's actions, ended by one without a name. */
extern const struct action work_actions[], thread_actions[], process_actions[], signal_actions[], stack_actions[],
    file_actions[], limit_actions[], end_actions[], differing_actions[];

/* One line of stdout, by one write. Safe in signal handlers, as long as `text` is short. */
void say(const char *text, long number);

/* Does what the words say; returns after the last one. */
void run_script(char **words);
/* What follows the action that is being done. */
char **rest_of_script(void);
/* The program's own path. */
const char *own_path(void);

/* A slot of the ledger for this process, or for the program that it has become. Async-signal-safe. */
void ledger_open(void);
void ledger_claim(void);
void ledger_tick(void);
void ledger_beat(void);
/* One call less. */
void ledger_forget(void);

/* `count` calls of tick, each in a heartbeat. */
unsigned work(long count);
/* That, for so much CPU time of the calling thread. */
void burn(long milliseconds);
/* A child with a slot of its own. */
pid_t fork_counted(void);

#endif
