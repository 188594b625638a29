/* Thread safety: the loader's table of this library's symbols is made writable and changed before main; after that only
 * the values of symbols change, whole, and the loader reads them from any thread. `is_waiting` and `opened_by` are
 * atomic. No locks but the loader's.
 *
 * At the program's start the loader cannot query whether a preloaded library defines a name, so all names are visible
 * when it binds the program's objects. Before main, the names that no other object defines and none is linked with are
 * hidden. If one is linked, it is already bound: then all stay visible, and resolve.h describes the result of a call.
 * (An indirect function of this library would be resolved before the program is bound; musl's loader rejects a library
 * with one.) Later the loader can query names (indirect functions), but for a missing one dlsym's result is not a
 * regular error (ctypes crashes). So names are hidden again before the thread that has called dlopen calls dlsym. */
#define _GNU_SOURCE
#include "resolve.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "sys.h"

#define PAGE_BYTES 4096u

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static ElfW(Sym) * symbols;
static uint32_t count;
static bool is_waiting;       /* for an MPI to be loaded */
static const void *opened_by; /* the thread that has called dlopen since the names were last hidden, or NULL */
static _Thread_local char this_thread __attribute__((tls_model("initial-exec")));

void *trace_choose(uint32_t name)
{
    return elf_symbol_anywhere(name_of(name)) != NULL ? trace_entry_points[name] : NULL;
}

static const void *table_of(ElfW(Sxword) tag)
{
    const ElfW(Dyn) *entry = _DYNAMIC;
    while (entry->d_tag != DT_NULL && entry->d_tag != tag)
        entry++;
    uint64_t base = (uint64_t)(uintptr_t)__ehdr_start, value = entry->d_un.d_ptr;
    return entry->d_tag == tag ? (const void *)(uintptr_t)(value < base ? base + value : value) : NULL;
}

static bool make_writable(void)
{
    uint64_t low = (uint64_t)(uintptr_t)symbols & ~(uint64_t)(PAGE_BYTES - 1);
    uint64_t high = (uint64_t)(uintptr_t)(symbols + count);
    return SYS3(SYS_mprotect, low, high - low, PROT_READ | PROT_WRITE) == 0;
}

/* Return the number of the name of a symbol with this value, or NAME_COUNT if it is no entry point. */
static uint32_t number_of(uint64_t value)
{
    uint64_t first = (uint64_t)((const char *)trace_entry_points - __ehdr_start);
    return value - first < sizeof trace_entry_points ? (uint32_t)((value - first) / ENTRY_POINT_BYTES) : NAME_COUNT;
}

static bool is_ours(const char *name)
{
    return strncmp(name, "MPI_", 4) == 0 || strncmp(name, "PMPI_", 5) == 0 || strncmp(name, "mpi_", 4) == 0;
}

/* Return whether a name stays visible. With an MPI present, Fortran bindings may still be loaded. */
static bool is_to_be_found(uint32_t number, bool is_mpi)
{
    bool is_fortran = number % KINDS_OF_NAMES >= 2;
    return number < TRACED_NAMES && is_mpi && (is_fortran || elf_symbol_anywhere(name_of(number)) != NULL);
}

/* Hide a symbol by setting its value to 0. The visible value is saved in its size, which the loader does not use. */
static void hide_for_the_first_time(ElfW(Sym) * symbol)
{
    symbol->st_size = symbol->st_value + ENTRY_POINT_BYTES / 2;
    __atomic_store_n(&symbol->st_value, 0, __ATOMIC_SEQ_CST);
    symbol->st_info = ELF64_ST_INFO(ELF64_ST_BIND(symbol->st_info), STT_GNU_IFUNC);
}

static __attribute__((constructor)) void hide_undefined_names(void)
{
    const uint32_t *hash = table_of(DT_HASH); /* gives the number of symbols */
    bool is_mpi = elf_symbol_anywhere("PMPI_Init") != NULL;
    symbols = (ElfW(Sym) *)(uintptr_t)table_of(DT_SYMTAB);
    count = hash != NULL ? hash[1] : 0;
    if (symbols == NULL || elf_symbol_is_missed(is_ours) || !make_writable())
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = number_of(symbols[i].st_value);
        if (number < NAME_COUNT && !is_to_be_found(number, is_mpi))
            hide_for_the_first_time(&symbols[i]);
    }
    __atomic_store_n(&is_waiting, !is_mpi, __ATOMIC_RELEASE);
}

static void show_names(bool is_all, bool is_mpi)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number =
            ELF64_ST_TYPE(symbols[i].st_info) == STT_GNU_IFUNC ? number_of(symbols[i].st_size) : NAME_COUNT;
        if (number < TRACED_NAMES)
            __atomic_store_n(&symbols[i].st_value, is_all || is_to_be_found(number, is_mpi) ? symbols[i].st_size : 0,
                             __ATOMIC_RELEASE);
    }
}

/* Hide the names again; only for a thread that is not in dlopen: the loader admits one at a time, and the last to enter
 * is the last to leave. */
static void hide_again(void)
{
    const void *self = &this_thread;
    if (__atomic_load_n(&opened_by, __ATOMIC_ACQUIRE) != self)
        return;
    bool is_mpi = elf_symbol_anywhere("PMPI_Init") != NULL;
    show_names(false, is_mpi);
    __atomic_store_n(&is_waiting, !is_mpi, __ATOMIC_RELEASE);
    __atomic_compare_exchange_n(&opened_by, &self, NULL, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void *trace_before_dlopen(void)
{
    static void *real;
    hide_again();
    if (__atomic_load_n(&is_waiting, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&opened_by, &this_thread, __ATOMIC_RELEASE);
        show_names(true, false);
    }
    void *function = __atomic_load_n(&real, __ATOMIC_RELAXED);
    if (function == NULL) {
        function = elf_symbol_anywhere("dlopen");
        __atomic_store_n(&real, function, __ATOMIC_RELAXED);
    }
    return function;
}

/* This library's own look-ups are not affected. */
void *trace_before_dlsym(void *handle, const char *name, const char *return_address)
{
    hide_again();
    bool is_own = return_address >= __ehdr_start && return_address < _end;
    bool is_of_library = handle != RTLD_DEFAULT && handle != RTLD_NEXT;
    if (is_own || !is_of_library || name == NULL || !is_ours(name))
        return (void *)looked_up_dlsym();
    return (void *)looked_up;
}
