/* What the calls of each thread have read and written, by file and operation: counts that only the thread itself
 * changes, without a lock.
 *
 * A call is counted when it returns, so that a thread that is cancelled in it leaves nothing half done. Counting is
 * async-signal-safe and keeps errno. Frequent calls are timed by samples: of the calls of an operation in a thread, one
 * in a random number, so many that there is one in 50 us or so; each of them stands for all. Of these, about one in 5
 * ms or more is recorded with its call path. Each operation has its turn of its own, and among transfers small, large
 * and huge ones: a thread that polls a thousand times for a message, or reads a file's many small headers, would else
 * leave out the one call that writes, or reads the data. */
#ifndef INCPROF_IO_COUNTS_H
#define INCPROF_IO_COUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"
#include "sys.h"

/* The order is that of the format. */
enum operation {
    OP_READ,
    OP_WRITE,
    OP_STREAM_READ, /* of a FILE: libc's own calls below are not seen */
    OP_STREAM_WRITE,
    OP_RECEIVE,
    OP_SEND,
    /* From here on, bytes are no data that is read or written. */
    OP_OPEN,
    OP_CLOSE,
    OP_SEEK,
    OP_SYNC,
    OP_STAT,
    OP_DIRECTORY,
    OP_CHANGE, /* of names and sizes */
    OP_MAP,
    OP_FLUSH,  /* of a FILE */
    OP_MPI_IO, /* a call of MPI on a file; the calls below it are counted as well */
    OPERATIONS
};

#define SMALL_BYTES 4096 /* transfers by a descriptor below this size are small */
/* Sizes of transfers that are timed apart from smaller ones. Copying as much takes some 10 us, or 1 ms. */
#define LARGE_BYTES (64 << 10)
#define HUGE_BYTES (4 << 20)
#define SIZES 3
/* A power of two. An interpreter that imports modules opens thousands of files, some five operations on each, before it
 * opens those of its user. */
#define SLOTS 16384

struct io_count {
    uint64_t key; /* 1 + file * 256 + operation; 0: free */
    uint64_t calls, bytes, ns, failed, small;
};

/* When calls of an operation and a size are timed. */
struct io_timing {
    uint32_t left;  /* calls until the next one is timed */
    uint32_t mean;  /* of the distribution that this was drawn from */
    uint32_t drawn; /* number that `left` began with */
    uint64_t last_ns, last_path_ns;
};

struct io_thread {
    struct io_thread *next;
    uint32_t is_used;   /* atomic */
    uint32_t mpi_depth; /* of calls of MPI on files under way */
    uint64_t mpi_bytes; /* moved by calls below the outermost of them */
    uint64_t random;
    struct io_timing timing[OPERATIONS][SIZES];
    uint32_t filled;                     /* slots; atomic */
    struct io_count *latest[OPERATIONS]; /* the slot used last */
    struct io_count other[OPERATIONS];   /* of FILE_OTHER and files without a slot */
    uint16_t used[SLOTS];                /* 1 + the number of each filled slot */
    struct io_count slots[SLOTS];
    struct io_count taken[OPERATIONS + SLOTS]; /* by the interval thread, so far */
};

/* A call under way. */
struct io_call {
    struct io_thread *thread; /* NULL: not counted */
    uint64_t start_ns;        /* 0: not timed */
    uint32_t weight;          /* calls that it stands for, if timed */
    uint32_t size;            /* of the transfer: 0 small, 1 large, 2 huge */
};

extern __thread struct io_thread *io_self;
extern bool io_is_on;

/* Give the calling thread a record. NULL if there is no memory. */
struct io_thread *io_thread_start(void);

/* Time this frequent call, and draw the next one. */
void io_start_timing(struct io_call *call, enum operation operation);

/* Begin a call, before the real one. A rare one is timed in any case. `bytes`: that it is to transfer, at most. */
static inline void io_begin(struct io_call *call, enum operation operation, size_t bytes, bool is_rare)
{
    *call = (struct io_call){.weight = 1, .size = (bytes >= LARGE_BYTES) + (bytes >= HUGE_BYTES)};
    if (!__atomic_load_n(&io_is_on, __ATOMIC_RELAXED))
        return;
    struct io_thread *thread = io_self != NULL ? io_self : io_thread_start();
    call->thread = thread;
    if (thread == NULL)
        return;
    if (is_rare)
        call->start_ns = monotonic_ns();
    else if (--thread->timing[operation][call->size].left == 0)
        io_start_timing(call, operation);
}

/* Begin a call that is over already, without its time. */
static inline void io_begin_untimed(struct io_call *call)
{
    call->start_ns = 0;
    call->thread = __atomic_load_n(&io_is_on, __ATOMIC_RELAXED) ? io_self != NULL ? io_self : io_thread_start() : NULL;
}

/* Count it. `file`: of descriptors.h. `result`: bytes, or negative if it failed. */
void io_end(const struct io_call *call, enum operation operation, uint32_t file, int64_t result);

/* Append a record with what all threads have done since the last time. For the interval thread. */
void io_put_counts(struct buffer *out);

/* In a forked child: all threads but the calling one are gone, and what was counted so far is the parent's. */
void io_counts_after_fork(void);

/* Calls that are recorded with their call path. */

struct path_event {
    uint32_t file, operation;
    uint64_t calls_milli; /* a thousandth of a call: it stands for so many */
    uint64_t bytes, ns;   /* of this one */
};

/* Use this number of an extension (extension.h); negative: none. */
void paths_begin(int own);

/* About one call of each thread in this time is recorded: more if the budget is spent. */
uint64_t paths_gap_ns(void);

/* Record a call of the calling thread with its path. Keeps errno. Does nothing if there is no collector. */
void path_record(const struct path_event *event);

/* Records of kind 11 (docs/reference/formats.md) that this library writes. */

enum { RECORD_NAMES = 5, RECORD_COUNTS = 6, RECORD_PATHS = 7 };

#endif
