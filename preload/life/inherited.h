/* What a program inherits that the calling thread becomes or starts: that signals are blocked or ignored, also those
 * that are open for the ticks meanwhile (own_signal.h). Async-signal-safe and thread-safe; in a vfork child, too. */
#ifndef INCPROF_INHERITED_H
#define INCPROF_INHERITED_H

#include <stdbool.h>

/* Before an exec, or else before a call that starts a program by itself; and after it, where the exec has failed. */
void inherited_begin(bool is_exec);
void inherited_end(bool is_exec);

#endif
