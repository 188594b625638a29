/* How far the process has come, and whether beats are recorded just now. All of it is thread-safe and
 * async-signal-safe; who may change the state is said in lifecycle.c. */
#ifndef EKG_SWITCH_H
#define EKG_SWITCH_H

#include <stdbool.h>

#include "appekg.h"

/* IDLE until the first beat; FORKED in a child until its first beat; OVER for good. */
enum switch_state { SWITCH_IDLE, SWITCH_FORKED, SWITCH_RUNNING, SWITCH_OVER };

enum switch_state switch_state(void);
void switch_set_state(enum switch_state state);

/* What an operator asks for. */
void switch_turn(bool on);
bool switch_is_on(void);

/* A process is to be switched off once it has started: until its first beat, it only seems to be on. */
void switch_start_off(bool off);
bool switch_starts_off(void);

/* Forgets the open beats of all threads, as if recording had been off for a moment. For the interval thread. */
void switch_new_generation(void);

/* No heartbeats any more, whatever is asked for. */
void switch_end(void);

#endif
