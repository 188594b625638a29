/* What fork_call_x86_64.S calls around the run-time's function. */
#ifndef SELFANALYZE_KMPC_H
#define SELFANALYZE_KMPC_H

/* Returns the run-time's function. */
void *kmpc_before(const void *function, const void *caller);
void kmpc_after(void);

#endif
