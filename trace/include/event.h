/* What the two halves of the tracer say to each other: libincprof_mpi.so, which knows no MPI, and the part that is
 * compiled against the mpi.h of the MPI in use (mpi/wrappers.c). Handles cross as numbers, ranks as the program gave
 * them; nothing here depends on an MPI. Changed together with TRACE_ABI only.
 *
 * Every function is for the thread that makes the MPI call; where nothing else is said, none is async-signal-safe: MPI
 * calls are not either.
 */
#ifndef TRACE_EVENT_H
#define TRACE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_ABI 3
#define TRACE_API __attribute__((visibility("default")))

/* What is known of an event besides its function, its call site and its times: bits of event.fields, in the order in
 * which the file has them (docs/formats.md). */
enum field {
    HAS_OBJECT = 1 << 0,     /* communicator, window or file */
    HAS_PEER = 1 << 1,       /* destination, source as asked for, root, target */
    HAS_TAG = 1 << 2,        /* as asked for */
    HAS_BYTES = 1 << 3,      /* sent; of a receive: what there is room for */
    HAS_OTHER = 1 << 4,      /* the receiving half of a Sendrecv */
    HAS_ACTUAL = 1 << 5,     /* source, tag and bytes of what was received by this very call */
    HAS_VALUE = 1 << 6,      /* flag of a test, level of Pcontrol */
    HAS_MADE = 1 << 7,       /* requests that this call has put under way */
    HAS_TEMPLATE = 1 << 8,   /* the persistent request that this call has made */
    HAS_STARTED = 1 << 9,    /* persistent requests that it has started */
    HAS_COMPLETED = 1 << 10, /* requests that it has completed */
    HAS_NEW = 1 << 11,       /* communicator, window or file that it has made */
    HAS_FAILED = 1 << 12     /* it returned an error */
};

/* Instead of a rank or a tag. The wrappers translate those of their MPI into these. */
#define ANY (-1000001)
#define NO_PROCESS (-1000002)
#define ROOT_HERE (-1000003)

struct message {
    int peer, tag;
    uint64_t bytes;
};

enum completion_flag {
    COMPLETION_MESSAGE = 1 << 0,   /* a receive: `message` is what came */
    COMPLETION_ELSEWHERE = 1 << 1, /* made in another thread: `lane` and `number` */
};

/* A request that has ended. */
struct completion {
    uint32_t flags;
    uint32_t lane;
    uint64_t number; /* how many its thread had made before */
    struct message message;
    uint32_t object; /* the communicator in which it was made */
    int rank, size;
};

enum object_kind { OBJECT_COMM, OBJECT_WIN, OBJECT_FILE };

/* A stretch of members in MPI_COMM_WORLD: first, first + stride, ... */
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
    uint32_t made_object;
    uint32_t completed_count, started_count;
    struct completion *completed;
    uint32_t *started;
    int held_count; /* requests that the call may end, and the program's array of them */
    const void *held;
};

/* In the stack frame of a call's wrapper: by where it lies, libc sees that a longjmp leaves the call. */
struct stay {
    struct event *event;  /* NULL when the call is over, and of nested ones */
    void *for_longjmp[4]; /* libc's struct _pthread_cleanup_buffer */
};

/* An event for this call, or NULL: it is one that MPI itself makes, or nothing is traced. */
TRACE_API struct event *incprof_mpi_enter(struct stay *stay, uint32_t function, const void *return_address);
TRACE_API void incprof_mpi_begin(struct event *event);
TRACE_API void incprof_mpi_end(struct event *event, int result);
TRACE_API void incprof_mpi_leave(struct stay *stay);
/* Instead of leave: the call was left by a longjmp or an exception. Async-signal-safe. */
TRACE_API void incprof_mpi_left(void *stay);

/* MPI is ready: from here on the trace is written. */
TRACE_API void incprof_mpi_started(int rank, int size, bool threads);
/* MPI_Pcontrol; MPI_Finalize; MPI_Abort, which does not come back. */
TRACE_API void incprof_mpi_control(struct event *event, int level);
TRACE_API void incprof_mpi_finalizing(struct event *event);
TRACE_API void incprof_mpi_finalized(struct event *event);
TRACE_API void incprof_mpi_aborting(struct event *event);

/* Memory that lasts until the next call in this thread; room 0 to 2. NULL where there is none. */
TRACE_API void *incprof_mpi_room(struct event *event, int room, uint64_t bytes);

/* The object of a call. False where it is not known yet: then it is to be added. */
TRACE_API bool incprof_mpi_object(struct event *event, enum object_kind kind, uint64_t handle);
TRACE_API void incprof_mpi_add_object(struct event *event, enum object_kind kind, uint64_t handle, int rank, int size,
                                      const struct members *local, int locals, const struct members *remote,
                                      int remotes, const char *name);
/* It is freed, or its handle is a new one's. Also within another call. */
TRACE_API void incprof_mpi_drop_object(enum object_kind kind, uint64_t handle);

/* Requests: one put under way by this call, with its object; a persistent one made, started; one that has ended, whose
 * completion is returned if there is a message to be filled in; one that is freed. */
TRACE_API void incprof_mpi_request(struct event *event, uint64_t handle, bool receives);
TRACE_API void incprof_mpi_template(struct event *event, uint64_t handle, bool receives);
TRACE_API void incprof_mpi_start(struct event *event, uint64_t handle);
TRACE_API struct message *incprof_mpi_complete(struct event *event, uint64_t handle);
TRACE_API void incprof_mpi_forget(uint64_t handle);

/* Where all processes agree whether they end together: on a communicator of their own, so that no call of the program
 * is met. Each function is for one thread at a time, which no other thread of the process may be in MPI beside unless
 * MPI allows that. */
struct meeting {
    bool (*make)(unsigned patience_s); /* by all processes; false where one of them did not come */
    void (*join)(bool ends);           /* does not wait */
    int (*result)(void);               /* 1: all end; 0: one does not; -1: not all have come */
    void (*abort)(int status);         /* ends the processes of the job */
};

/* An entry of the wrappers' table; those of one function lie side by side: as MPI_*, as PMPI_*. */
struct wrappers {
    uint32_t abi;
    uint32_t count;                                   /* of functions */
    const char *mpi;                                  /* in words */
    void *const *entry;                               /* [2 * count], NULL where this MPI has no such function */
    void **next;                                      /* [2 * count], filled in before an entry is called */
    bool (*find)(void *(*look_up)(const char *name)); /* looks up what the wrappers themselves call */
    const struct meeting *meeting;
};
#define TRACE_WRAPPERS "incprof_mpi_wrappers"

#endif
