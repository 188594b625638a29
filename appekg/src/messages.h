/* Messages on their way from the interval thread to the one that sends them: a ring of so many, of which the oldest is
 * given up for the newest. Neither side ever waits for the other: no lock. */
#ifndef EKG_MESSAGES_H
#define EKG_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

#define MESSAGES 64u

struct message {
    size_t length; /* of the text, with its zero */
    char text[];
};

/* For the interval thread: a copy of the text, without a zero, becomes the last message. */
void messages_put(const struct buffer *text);

/* For the sender: the first message, its own now, or NULL. */
struct message *messages_take(void);
void message_free(struct message *message);

/* For the sender: looks how much has happened, and, when it has seen to all that, waits until more has, or until the
 * deadline (CLOCK_MONOTONIC). A message happens, and messages_wake. */
uint32_t messages_news(void);
void messages_wait(uint32_t seen, uint64_t deadline_ns);

/* Thread-safe. */
void messages_wake(void);
uint32_t messages_count(void); /* that wait to be taken */

/* Messages that were given up since the start; the sender may count its own. Thread-safe. */
uint64_t messages_lost(void);
void messages_count_lost(void);

/* In a forked child, and at the start: nothing is there. */
void messages_forget(void);

#endif
