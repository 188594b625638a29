/* The thread that talks to LDMS: whatever LDMS does with it, nobody else waits. It takes from messages.h. */
#ifndef EKG_LDMS_SENDER_H
#define EKG_LDMS_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "ldms_api.h"

/* Texts live as long as the process. */
struct ldms_target {
    const char *transport, *host, *port, *authentication, *stream;
    uint64_t timeout_ns; /* of a connection */
};

/* Starts the thread, in a marked thread (last_thread.h). False when there can be none. */
bool ldms_sender_start(const struct ldms_api *api, const struct ldms_target *target);

/* Sends what is left and ends the connection; waits so long at most. For the interval thread. */
void ldms_sender_stop(uint64_t longest_ns);

/* 1 while a message that has been taken has not been sent. */
uint64_t ldms_sender_holds(void);

/* Whether LDMS has been called in this process or in one that it is a forked child of: its threads are not here then,
 * and its locks may be held by nobody. */
bool ldms_sender_was_used(void);

/* In a forked child. */
void ldms_sender_forget(void);

#endif
