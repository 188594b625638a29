/* runtime/include/sys.h with memory that AddressSanitizer watches: each piece lies by itself, is given back with the
 * size it was asked for, and all of it together stays below what the harness allows. */
#ifndef FUZZ_SYS_H
#define FUZZ_SYS_H

#define sys_alloc mapped_alloc
#define sys_alloc_untouched mapped_alloc_untouched
#define sys_free mapped_free
#include_next "sys.h"
#undef sys_alloc
#undef sys_alloc_untouched
#undef sys_free

/* At most so many bytes from here on, or the harness fails. */
void watched_allow(size_t bytes);

/* As sys_alloc and sys_free. */
void *watched_alloc(size_t bytes);
void watched_free(void *memory, size_t bytes);

#define sys_alloc watched_alloc
#define sys_alloc_untouched watched_alloc
#define sys_free watched_free

#endif
