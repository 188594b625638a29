/* The interface between libincprof.so and the libraries that are preloaded beside it and record what the program does
 * through the functions they wrap (allocations, input and output): they pass events, and write images of their own into
 * the same stream.
 *
 * The functions are in libincprof.so. A library refers to them weakly: they are NULL where libincprof.so is not
 * loaded, or is older.
 *
 * An extension's functions are called by the interval thread under the collector's lock (`begin`: by the only thread of
 * the process). That thread has no data of libc's: no errno, no variables of its own, no memory from malloc.
 */
#ifndef RUNTIME_EXTENSION_H
#define RUNTIME_EXTENSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXTENSION_VERSION 1
#define EXTENSION_WORDS 4
#define MOST_EXTENSIONS 6
#define EXTENSION_ALL_EVENTS 16u /* the unit of incprof_extension_thinning */

/* An event as the extension gets it back. */
struct extension_event {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t words[EXTENSION_WORDS];
    uint32_t thread; /* numbers as those of samples */
    uint32_t node;   /* of the call path; 0: none */
};

/* An interval that is about to be written; `run_start_ns` and the others on CLOCK_MONOTONIC. */
struct extension_interval {
    uint64_t run_start_ns, start_ns, end_ns;
    bool is_last;
};

struct extension {
    uint32_t version; /* EXTENSION_VERSION */
    uint32_t kind;    /* of its images (docs/reference/formats.md) */
    /* A recording begins, in a forked child too, which continues with the parent's memory. `wanted`: with a stream. */
    void (*begin)(bool forked, bool wanted);
    /* An event, in the order of its thread; events of other threads may be older. Also between intervals. */
    void (*take)(const struct extension_event *event);
    /* Return the payload of the interval's image, and its length, or NULL: no image. It stays valid until the next
     * call. Intervals that are not written are left out. */
    const uint8_t *(*put)(const struct extension_interval *interval, size_t *length);
};

enum extension_result {
    EXTENSION_TAKEN,
    EXTENSION_LOST,  /* the ring is full, or the thread is unknown: created without libc, or about to end */
    EXTENSION_LATER, /* the recording has not begun, or is paused (moncontrol) */
    EXTENSION_OFF    /* the process is not recorded, or no longer, until `begin` is called */
};

/* Register an extension, which stays valid for good. Returns its number, or -1: another version, or too many. At any
 * time, even before the recording; thread-safe. */
int incprof_extension_add(const struct extension *extension) __attribute__((weak));

/* Pass an event of the calling thread, with the path of the calls that have led here (`has_path`). Signals are blocked
 * meanwhile. Never in a vfork child. Thread-safe and async-signal-safe; errno is kept. */
enum extension_result incprof_extension_event(int number, const uint64_t words[EXTENSION_WORDS], bool has_path)
    __attribute__((weak));

/* Return how many events the extension is to record one of, in sixteenths, so that the recording stays within its
 * budget of CPU time. It changes as the program runs. Thread-safe and async-signal-safe. */
uint32_t incprof_extension_thinning(int number) __attribute__((weak));

/* The same, for an extension that may have been loaded without libincprof.so, or with an older one. */
static inline uint32_t extension_thinning(int number)
{
    return incprof_extension_thinning != NULL ? incprof_extension_thinning(number) : EXTENSION_ALL_EVENTS;
}

#endif
