/* The calls that make threads, put in front of libc's: each thread has its record before its first instruction. */
#ifndef INCPROF_THREAD_HOOKS_H
#define INCPROF_THREAD_HOOKS_H

/* Makes the calling thread, the program's first, a recorded one. Before main. */
void thread_hooks_start_main(void);

#endif
