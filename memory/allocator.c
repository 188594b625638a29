/* Thread safety: `allocator_next` is written by the first call, before the program has a second thread, and again with
 * the same values if two threads come first at once. `early_used` is atomic. The code's bounds are written once. */
#define _GNU_SOURCE
#include "allocator.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "live.h"

/* What dlsym allocates during the first call. */
#define EARLY_BYTES 16384
static _Alignas(4096) uint8_t early[EARLY_BYTES];
static size_t early_used;
static int is_looking;
static uintptr_t code_low, code_high;

static void *early_block(size_t bytes)
{
    size_t size = (bytes + 31) / 16 * 16; /* its length first, for realloc */
    size_t at = bytes < EARLY_BYTES ? __atomic_fetch_add(&early_used, size, __ATOMIC_RELAXED) : EARLY_BYTES;
    if (at + size > EARLY_BYTES)
        return NULL;
    memcpy(early + at, &bytes, sizeof bytes);
    return early + at + 16;
}

bool allocator_is_early(const void *block)
{
    return (uintptr_t)block - (uintptr_t)early < EARLY_BYTES;
}

void allocator_mark_early(void)
{
    live_mark(early, EARLY_BYTES);
}

static void *get(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static void no_free(void *block)
{
    (void)block;
}

static void *early_malloc(size_t bytes)
{
    return early_block(bytes);
}

static void *early_calloc(size_t count, size_t bytes)
{
    size_t all;
    return __builtin_mul_overflow(count, bytes, &all) ? NULL : early_block(all); /* never used before: zero */
}

static void *early_realloc(void *block, size_t bytes)
{
    size_t length = 0;
    void *more = early_block(bytes);
    if (block != NULL && more != NULL) {
        memcpy(&length, (uint8_t *)block - 16, sizeof length);
        memcpy(more, block, length < bytes ? length : bytes);
    }
    return more;
}

/* A missing function is left out with the others of its kind: libc has all of them. */
static void look_up(void)
{
    if (__atomic_exchange_n(&is_looking, 1, __ATOMIC_ACQUIRE) != 0)
        return;
    const struct allocator before = allocator_next;
    allocator_next.malloc = early_malloc;
    allocator_next.free = no_free;
    allocator_next.calloc = early_calloc;
    allocator_next.realloc = early_realloc;
    struct allocator found = {
        .malloc = get("malloc"),
        .free = get("free"),
        .calloc = get("calloc"),
        .realloc = get("realloc"),
        .reallocarray = get("reallocarray"),
        .memalign = get("memalign"),
        .aligned_alloc = get("aligned_alloc"),
        .posix_memalign = get("posix_memalign"),
        .valloc = get("valloc"),
        .pvalloc = get("pvalloc"),
    };
    allocator_next = found.malloc != NULL ? found : before;
    allocator_mark_early();
    __atomic_store_n(&is_looking, 0, __ATOMIC_RELEASE);
}

static void *first_malloc(size_t bytes)
{
    look_up();
    return allocator_next.malloc != first_malloc ? allocator_next.malloc(bytes) : early_block(bytes);
}

static void first_free(void *block)
{
    look_up();
    if (allocator_next.free != first_free)
        allocator_next.free(block);
}

static void *first_calloc(size_t count, size_t bytes)
{
    look_up();
    return allocator_next.calloc != first_calloc ? allocator_next.calloc(count, bytes) : early_calloc(count, bytes);
}

static void *first_realloc(void *block, size_t bytes)
{
    look_up();
    return allocator_next.realloc != first_realloc ? allocator_next.realloc(block, bytes) : early_realloc(block, bytes);
}

static void *first_reallocarray(void *block, size_t count, size_t bytes)
{
    look_up();
    return allocator_next.reallocarray(block, count, bytes);
}

static void *first_memalign(size_t alignment, size_t bytes)
{
    look_up();
    return allocator_next.memalign(alignment, bytes);
}

static void *first_aligned_alloc(size_t alignment, size_t bytes)
{
    look_up();
    return allocator_next.aligned_alloc(alignment, bytes);
}

static int first_posix_memalign(void **block, size_t alignment, size_t bytes)
{
    look_up();
    return allocator_next.posix_memalign(block, alignment, bytes);
}

static void *first_valloc(size_t bytes)
{
    look_up();
    return allocator_next.valloc(bytes);
}

static void *first_pvalloc(size_t bytes)
{
    look_up();
    return allocator_next.pvalloc(bytes);
}

struct allocator allocator_next = {
    .malloc = first_malloc,
    .free = first_free,
    .calloc = first_calloc,
    .realloc = first_realloc,
    .reallocarray = first_reallocarray,
    .memalign = first_memalign,
    .aligned_alloc = first_aligned_alloc,
    .posix_memalign = first_posix_memalign,
    .valloc = first_valloc,
    .pvalloc = first_pvalloc,
};

bool allocator_provides(const char *name)
{
    Dl_info chosen, own;
    const ElfW(Sym) *symbol = NULL;
    void *function = dlsym(RTLD_DEFAULT, name);
    if (function == NULL || dladdr1(function, &chosen, (void **)&symbol, RTLD_DL_SYMENT) == 0 ||
        dladdr((void *)&allocator_next, &own) == 0)
        return false;
    /* A function whose address a program without PIE uses has that of its entry in the program's PLT everywhere. */
    return chosen.dli_fbase == own.dli_fbase || (symbol != NULL && symbol->st_shndx == SHN_UNDEF);
}

static int note_code(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size, (void)unused;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t low = object->dlpi_addr + part->p_vaddr;
        uintptr_t function = (uintptr_t)allocator_next.malloc;
        if (part->p_type != PT_LOAD || function < low || function - low >= part->p_memsz)
            continue;
        code_high = low + part->p_memsz;
        __atomic_store_n(&code_low, low, __ATOMIC_RELEASE);
        return 1;
    }
    return 0;
}

void allocator_find_code(void)
{
    allocator_next.free(NULL); /* looks the functions up */
    dl_iterate_phdr(note_code, NULL);
}

bool allocator_has(const void *address)
{
    uintptr_t low = __atomic_load_n(&code_low, __ATOMIC_ACQUIRE);
    return low != 0 && (uintptr_t)address >= low && (uintptr_t)address < code_high;
}
