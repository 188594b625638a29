/* runtime/include/sys.h with memory from libc's mmap: ThreadSanitizer would not see that it is given back, and take what
 * one thread had there for what the next one has. */
#define sys_alloc raw_alloc
#define sys_alloc_untouched raw_alloc_untouched
#define sys_free raw_free
#include_next "sys.h"
#undef sys_alloc
#undef sys_alloc_untouched
#undef sys_free

#ifndef PARTS_SYS_H
#define PARTS_SYS_H

static inline void *sys_alloc(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static inline void *sys_alloc_untouched(size_t bytes)
{
    return sys_alloc(bytes);
}

static inline void sys_free(void *memory, size_t bytes)
{
    if (memory != NULL)
        munmap(memory, bytes);
}

#endif
