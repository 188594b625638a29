/* Wrappers of MPI's calls on files, of C and of Fortran: how often each was called, for how long, and how many bytes
 * the calls below it on the same thread have moved. They need no MPI to be compiled: whatever the call has is passed
 * on, and all arguments are words. Of calls within calls, the outermost counts.
 *
 * Thread safety: a function's number is atomic; the rest is the calling thread's record. */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>

#include "wrap.h"

#define NO_SUCH_FUNCTION 16 /* MPI_ERR_OTHER of some MPI: nothing but a test for the function calls it */

typedef long word;
typedef word function(word, word, word, word, word, word, word, word);

struct mpi_function {
    const char *name; /* by which it is reported */
    void *next;
    uint32_t file; /* number of the name; 0: not known yet */
};

static uint32_t name_of(struct mpi_function *own)
{
    uint32_t file = __atomic_load_n(&own->file, __ATOMIC_RELAXED);
    if (file != 0)
        return file;
    file = descriptor_name(own->name, strlen(own->name));
    if (file != FILE_OTHER)
        __atomic_store_n(&own->file, file, __ATOMIC_RELAXED);
    return file;
}

/* A call of Fortran has no result, but whatever is in the register. */
static void end(const struct io_call *call, struct mpi_function *own, bool is_outermost, bool has_failed)
{
    struct io_thread *thread = call->thread;
    if (thread == NULL)
        return;
    thread->mpi_depth--;
    if (!is_outermost)
        return;
    uint64_t moved = thread->mpi_bytes;
    io_end(call, OP_MPI_IO, name_of(own), has_failed ? -1 : (int64_t)moved);
}

/* Two words more than most calls have are read from the caller's frame. */
#define DEFINE(symbol, reported, is_c)                                                                                 \
    EXPORT word symbol(word a, word b, word c, word d, word e, word f, word g, word h);                                \
    EXPORT word symbol(word a, word b, word c, word d, word e, word f, word g, word h)                                 \
    {                                                                                                                  \
        static struct mpi_function own = {.name = reported};                                                           \
        function *next = (function *)next_function(&own.next, #symbol);                                                \
        if (next == NULL)                                                                                              \
            return NO_SUCH_FUNCTION;                                                                                   \
        struct io_call call;                                                                                           \
        io_begin(&call, OP_MPI_IO, 0, true);                                                                           \
        bool is_outermost = call.thread != NULL && call.thread->mpi_depth++ == 0;                                      \
        if (is_outermost)                                                                                              \
            call.thread->mpi_bytes = 0;                                                                                \
        word result = next(a, b, c, d, e, f, g, h);                                                                    \
        end(&call, &own, is_outermost, (is_c) && (int)result != 0);                                                    \
        return result;                                                                                                 \
    }
#define C_CALL(name)                                                                                                   \
    DEFINE(MPI_File_##name, "MPI_File_" #name, true) DEFINE(mpi_file_##name##_, "MPI_File_" #name, false)
/* Since MPI 4 with counts of 64 bits, too. */
#define MOVES(name) C_CALL(name) DEFINE(MPI_File_##name##_c, "MPI_File_" #name, true)

C_CALL(open)
C_CALL(close)
C_CALL(delete)
C_CALL(sync)
C_CALL(set_size)
C_CALL(preallocate)
C_CALL(set_view)
MOVES(read)
MOVES(read_all)
MOVES(read_at)
MOVES(read_at_all)
MOVES(read_shared)
MOVES(read_ordered)
MOVES(iread)
MOVES(iread_all)
MOVES(iread_at)
MOVES(iread_at_all)
MOVES(iread_shared)
MOVES(write)
MOVES(write_all)
MOVES(write_at)
MOVES(write_at_all)
MOVES(write_shared)
MOVES(write_ordered)
MOVES(iwrite)
MOVES(iwrite_all)
MOVES(iwrite_at)
MOVES(iwrite_at_all)
MOVES(iwrite_shared)
MOVES(read_all_begin)
MOVES(read_at_all_begin)
MOVES(read_ordered_begin)
MOVES(write_all_begin)
MOVES(write_at_all_begin)
MOVES(write_ordered_begin)
C_CALL(read_all_end)
C_CALL(read_at_all_end)
C_CALL(read_ordered_end)
C_CALL(write_all_end)
C_CALL(write_at_all_end)
C_CALL(write_ordered_end)
