/* The allocator behind this library: libc's, or that of a library which the program uses or preloads (jemalloc,
 * tcmalloc). Thread-safe; async-signal-safe where the allocator is. */
#ifndef MEMORY_ALLOCATOR_H
#define MEMORY_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
/* Found without the table of addresses that the loader fills in. */
#define HIDDEN __attribute__((visibility("hidden")))

/* Its functions. Until the first call, each entry looks all of them up. */
struct allocator {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
};
extern struct allocator allocator_next HIDDEN;

/* Return whether the block was allocated while the functions were being looked up: it is never freed. */
bool allocator_is_early(const void *block);

/* Make live_may_have true for such blocks, after live_begin has emptied the table. */
void allocator_mark_early(void);

/* Return whether the program calls this library's function of that name. Not in a signal handler. */
bool allocator_provides(const char *name);

/* Return whether the address is in the code of the allocator. After the start; before: false. */
bool allocator_has(const void *address);

/* Find where its code is. At the start; not in a signal handler. */
void allocator_find_code(void);

#endif
