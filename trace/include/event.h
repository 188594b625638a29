/* Interface between the two halves of the tracer: libincprof_mpi.so, which is independent of the MPI, and the part that
 * is compiled against the mpi.h of the MPI in use (mpi/wrappers.c). Handles are passed as numbers, ranks as the program
 * gave them; nothing here depends on an MPI. Any change requires a new TRACE_ABI.
 *
 * Every function is for the thread that makes the MPI call. Like MPI calls, none is async-signal-safe unless noted
 * otherwise.
 */
#ifndef TRACE_EVENT_H
#define TRACE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_ABI 3
#define TRACE_API __attribute__((visibility("default")))

/* Fields of an event besides its function, call site and times: bits of event.fields, in the order of the file
 * (docs/reference/formats.md). */
enum field {
    HAS_OBJECT = 1 << 0,     /* communicator, window or file */
    HAS_PEER = 1 << 1,       /* destination, requested source, root, target */
    HAS_TAG = 1 << 2,        /* as requested */
    HAS_BYTES = 1 << 3,      /* sent; of a receive: the buffer's size */
    HAS_OTHER = 1 << 4,      /* the receiving half of a Sendrecv */
    HAS_ACTUAL = 1 << 5,     /* source, tag and bytes of the message received by this call */
    HAS_VALUE = 1 << 6,      /* flag of a test, level of Pcontrol */
    HAS_MADE = 1 << 7,       /* number of requests started by this call */
    HAS_TEMPLATE = 1 << 8,   /* the persistent request created by this call */
    HAS_STARTED = 1 << 9,    /* persistent requests started by it */
    HAS_COMPLETED = 1 << 10, /* requests completed by it */
    HAS_NEW = 1 << 11,       /* communicator, window or file created by it */
    HAS_FAILED = 1 << 12     /* it returned an error */
};

/* Special ranks and tags. The wrappers translate their MPI's values into these. */
#define ANY (-1000001)
#define NO_PROCESS (-1000002)
#define ROOT_HERE (-1000003)

struct message {
    int peer, tag;
    uint64_t bytes;
};

enum completion_flag {
    COMPLETION_MESSAGE = 1 << 0,    /* a receive: `message` is the received one */
    COMPLETION_OTHER_LANE = 1 << 1, /* created in another thread: `lane` and `number` */
};

/* A completed request. */
struct completion {
    uint32_t flags;
    uint32_t lane;
    uint64_t number; /* number of requests that its thread had created before */
    struct message message;
    uint32_t object; /* the communicator of its creation */
    int rank, size;
};

enum object_kind { OBJECT_COMM, OBJECT_WIN, OBJECT_FILE };

/* A range of members in MPI_COMM_WORLD: first, first + stride, ... */
struct members {
    int first, stride, count;
};

struct event {
    uint32_t function, fields;
    bool is_silent; /* MPI_Pcontrol: not written */
    uint64_t site;
    uint64_t start_ns, end_ns, work_ns;
    uint32_t object;
    int rank, size; /* of the object: peers are relative to it */
    struct message message, other, actual;
    int64_t value;
    uint64_t made;
    uint32_t template_id;
    uint32_t created_object;
    uint32_t completed_count, started_count;
    struct completion *completed;
    uint32_t *started;
    int held_count; /* number of requests that the call may complete; `held` is the program's array of them */
    const void *held;
};

/* In the stack frame of a call's wrapper: libc detects by its address that a longjmp leaves the call. */
struct unwind_guard {
    struct event *event;  /* NULL after the call, and for nested calls */
    void *for_longjmp[4]; /* libc's struct _pthread_cleanup_buffer */
};

/* Return an event for this call, or NULL if MPI itself makes the call, or nothing is traced. */
TRACE_API struct event *incprof_mpi_enter(struct unwind_guard *unwind_guard, uint32_t function,
                                          const void *return_address);
TRACE_API void incprof_mpi_begin(struct event *event);
TRACE_API void incprof_mpi_end(struct event *event, int result);
TRACE_API void incprof_mpi_leave(struct unwind_guard *unwind_guard);
/* In place of incprof_mpi_leave, if the call is left by a longjmp or an exception. Async-signal-safe. */
TRACE_API void incprof_mpi_left(void *unwind_guard);

/* After MPI_Init: start to write the trace. */
TRACE_API void incprof_mpi_started(int rank, int size, bool threads);
/* For MPI_Pcontrol, MPI_Finalize, and MPI_Abort, which does not return. */
TRACE_API void incprof_mpi_control(struct event *event, int level);
TRACE_API void incprof_mpi_finalizing(struct event *event);
TRACE_API void incprof_mpi_finalized(struct event *event);
TRACE_API void incprof_mpi_aborting(struct event *event);

/* Return memory that is valid until the next call in this thread; room 0 to 2. NULL on failure. */
TRACE_API void *incprof_mpi_room(struct event *event, int room, uint64_t bytes);

/* Set the object of a call. False if it is unknown: add it then. */
TRACE_API bool incprof_mpi_object(struct event *event, enum object_kind kind, uint64_t handle);
TRACE_API void incprof_mpi_add_object(struct event *event, enum object_kind kind, uint64_t handle, int rank, int size,
                                      const struct members *local, int locals, const struct members *remote,
                                      int remotes, const char *name);
/* Forget an object that is freed, or whose handle belongs to a new one. Also within another call. */
TRACE_API void incprof_mpi_drop_object(enum object_kind kind, uint64_t handle);

/* Requests: started by this call, with its object; a persistent one created, and started; a completed one, whose
 * message is returned if it is to be filled in; a freed one. */
TRACE_API void incprof_mpi_request(struct event *event, uint64_t handle, bool receives);
TRACE_API void incprof_mpi_template(struct event *event, uint64_t handle, bool receives);
TRACE_API void incprof_mpi_start(struct event *event, uint64_t handle);
TRACE_API struct message *incprof_mpi_complete(struct event *event, uint64_t handle);
TRACE_API void incprof_mpi_forget(uint64_t handle);

/* Agreement of all processes on whether they end together, on a separate communicator, so that it does not match calls
 * of the program. Each function is for one thread at a time; no other thread of the process may be in MPI meanwhile
 * unless MPI allows that. */
struct meeting {
    bool (*make)(unsigned patience_s); /* by all processes; false if one of them did not join */
    void (*join)(bool ends);           /* does not wait */
    int (*result)(void);               /* 1: all end; 0: one does not; -1: not all have joined */
    void (*abort)(int status);         /* ends the processes of the job */
};

/* The wrappers' table; a function's entries are adjacent: MPI_*, then PMPI_*. */
struct wrappers {
    uint32_t abi;
    uint32_t count;                                   /* of functions */
    const char *mpi;                                  /* in words */
    void *const *entry;                               /* [2 * count], NULL for functions that this MPI lacks */
    void **next;                                      /* [2 * count], filled in before an entry is called */
    bool (*find)(void *(*look_up)(const char *name)); /* looks up the functions that the wrappers themselves call */
    const struct meeting *meeting;
};
#define TRACE_WRAPPERS "incprof_mpi_wrappers"

/* Numbers of the traced functions, in the order of the two tables. */

enum function_number {
#define CALL_(name, lower, kind, ...) FUNCTION_##name,
#include "every_call.h"
    FUNCTION_COUNT
};

#endif
