/* Threads get their record before their first instruction, whoever makes them (thread_create.c). */
#ifndef INCPROF_THREAD_HOOKS_H
#define INCPROF_THREAD_HOOKS_H

#include <pthread.h>
#include <stddef.h>

#include "thread.h"

/* Makes the calling thread, the program's first, a recorded one. Before main. */
void thread_hooks_start_main(void);

/* The first code of a thread that pthread_create or thrd_create has made; its record says how large its stack is. */
void thread_hooks_enter(struct thread *thread);

/* Usable bytes of the stack that `attr` asks for. Thread-safe. */
size_t thread_hooks_stack_bytes(const pthread_attr_t *attr);

#endif
