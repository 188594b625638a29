/* The LDMS interface: names and signatures of libldms and libldmsd_stream, which are loaded at run time.
 *
 * There are three generations. 4.5 and later publish by ldms_msg_publish; 4.4 by ldms_stream_publish, with the same
 * signature; before, ldmsd_stream_publish of another library did it, and ldms_xprt_new_with_auth took a function for
 * log messages as its second argument. */
#ifndef EKG_LDMS_H
#define EKG_LDMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

#define LDMS_JSON 1               /* LDMS_MSG_JSON, LDMS_STREAM_JSON and LDMSD_STREAM_JSON */
#define LDMS_READABLE_BY_ALL 0444 /* mode of the message, for the first two generations */

/* enum ldms_xprt_event_type, as far as it is the same in all generations. */
enum ldms_event_type { LDMS_CONNECTED, LDMS_REJECTED, LDMS_ERROR, LDMS_DISCONNECTED };

struct ldms_transport;   /* struct ldms_xprt */
struct ldms_options;     /* struct attr_value_list */
struct ldms_credentials; /* struct ldms_cred */

struct ldms_event { /* the beginning of struct ldms_xprt_event */
    int type;
};

typedef void ldms_event_function(struct ldms_transport *transport, struct ldms_event *event, void *argument);

struct ldms_api {
    struct ldms_transport *(*create)(const char *transport, const char *authentication, struct ldms_options *options);
    struct ldms_transport *(*create_with_log)(const char *transport, void (*log)(const char *format, ...),
                                              const char *authentication, struct ldms_options *options);
    int (*connect)(struct ldms_transport *transport, const char *host, const char *port, ldms_event_function *function,
                   void *argument);
    int (*publish_message)(struct ldms_transport *transport, const char *name, int type,
                           struct ldms_credentials *credentials, uint32_t mode, const char *data, size_t length);
    int (*publish_stream)(struct ldms_transport *transport, const char *name, int type, const char *data,
                          size_t length);
    void (*close)(struct ldms_transport *transport);
    void (*put)(struct ldms_transport *transport, const char *reference); /* before 4.4, without the second argument */
};

/* Load the libraries. False after one line on stderr. In an application's thread. */
bool ldms_load(struct ldms_api *api);

/* Create a transport, and publish, with any generation. Both may block indefinitely in LDMS. */
struct ldms_transport *ldms_create(const struct ldms_api *api, const char *transport, const char *authentication);
int ldms_publish(const struct ldms_api *api, struct ldms_transport *transport, const char *name, const char *json,
                 size_t length);

/* The sender thread, which calls LDMS; no other thread waits if LDMS blocks it. It takes the messages below. */

/* The texts are valid for the life of the process. */
struct ldms_target {
    const char *transport, *host, *port, *authentication, *stream;
    uint64_t timeout_ns; /* of a connection */
};

/* Start the thread, from a marked thread (last_thread_mark). False if it cannot be created. */
bool ldms_sender_start(const struct ldms_api *api, const struct ldms_target *target);

/* Send the remaining messages and end the connection; waits for `longest_ns` at most. For the interval thread. */
void ldms_sender_stop(uint64_t longest_ns);

/* Return 1 while a taken message has not been sent. */
uint64_t ldms_sender_pending(void);

/* Return whether LDMS has been called in this process or in a forked ancestor: its threads then do not exist here, and
 * its locks may be held by missing threads. */
bool ldms_sender_was_used(void);

/* In a forked child: forget the thread. */
void ldms_sender_forget(void);

/* Messages from the interval thread to the sender: a ring of MESSAGES entries, in which the newest replaces the oldest.
 * Neither side ever waits for the other: no lock. */
#define MESSAGES 64u

struct message {
    size_t length; /* of the text, with its zero */
    char text[];
};

/* For the interval thread: append a copy of the text, which has no terminating zero, as the last message. */
void messages_put(const struct buffer *text);

/* For the sender: take the first message, or return NULL. */
struct message *messages_take(void);
void message_free(struct message *message);

/* For the sender: read the event count and, once these events are handled, wait until it changes or until the deadline
 * (CLOCK_MONOTONIC). Events are new messages and messages_wake. */
uint32_t messages_sequence(void);
void messages_wait(uint32_t value, uint64_t deadline_ns);

/* Thread-safe. */
void messages_wake(void);
uint32_t messages_count(void); /* messages waiting to be taken */

/* Return the number of messages lost since the start; the sender may add its own. Thread-safe. */
uint64_t messages_lost(void);
void messages_count_lost(void);

/* Empty the ring, in a forked child and at the start. */
void messages_forget(void);

/* End of a process whose main thread has called pthread_exit: libc ends it with its last thread. Libc threads of this
 * library or of LDMS must not keep it alive: a guard thread checks for this case, and exits as libc would once no other
 * thread is left. */

/* The state of a thread before it was marked. */
struct last_thread_marked {
    uint64_t mask;
    long io_priority;
};

/* Mark the calling thread and all its descendants: all signals are blocked, and its I/O priority is the lowest. Both
 * are inherited; a program's own threads hardly ever have both. */
struct last_thread_marked last_thread_mark(void);
void last_thread_unmark(struct last_thread_marked before);

/* Start the guard, from a marked thread. False if it cannot be created. */
bool last_thread_guard(void);

#endif
