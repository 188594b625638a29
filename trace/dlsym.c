/* Thread safety: `is_second_mpi_reported` is atomic. No locks but the loader's. */
#define _GNU_SOURCE
#include "resolve.h"

#include <stdbool.h>
#include <string.h>

#include "log.h"

static bool is_second_mpi_reported;

dlsym_function *looked_up_dlsym(void)
{
    static void *real;
    void *function = __atomic_load_n(&real, __ATOMIC_RELAXED);
    if (function == NULL) {
        function = elf_symbol_anywhere("dlsym");
        __atomic_store_n(&real, function, __ATOMIC_RELAXED);
    }
    return (dlsym_function *)function;
}

/* Return the number of a traced function's C name; NAME_COUNT for others. */
static uint32_t number_of(const char *name)
{
    for (uint32_t number = 0; number < TRACED_NAMES; number += KINDS_OF_NAMES)
        for (uint32_t kind = 0; kind < 2; kind++)
            if (strcmp(name_of(number + kind), name) == 0)
                return number + kind;
    return NAME_COUNT;
}

/* With several MPIs, the entry point would use the one visible to its caller, not the one whose handle was passed. */
void *looked_up(void *handle, const char *name)
{
    void *definition = looked_up_dlsym()(handle, name);
    uint32_t number = definition != NULL ? number_of(name) : NAME_COUNT;
    if (number == NAME_COUNT || definition == trace_entry_points[number])
        return definition;
    if (elf_symbol_other_than(name, definition) == NULL)
        return trace_entry_points[number];
    if (strstr(name, "MPI_Init") != NULL && strcmp(name, "MPI_Initialized") != 0 &&
        !__atomic_exchange_n(&is_second_mpi_reported, true, __ATOMIC_RELAXED))
        log_warn("one of several MPIs in this process was looked up by dlsym: its calls are not traced", NULL);
    return definition;
}
