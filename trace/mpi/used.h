/* MPI functions that the wrappers themselves call, invisible to other tools. For wrappers.c alone, like all files here
 * that include mpi.h. */
#ifndef INCPROF_TRACE_USED_H
#define INCPROF_TRACE_USED_H

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BITS(handle) ((uint64_t)(uintptr_t)(handle))

/* clang-format off */
#define FOR_EACH_USED(DO)                                                                                              \
    DO(Comm_rank)                                                                                                      \
    DO(Comm_size) DO(Comm_group) DO(Comm_remote_size) DO(Comm_remote_group) DO(Comm_test_inter) DO(Group_size)         \
        DO(Group_rank) DO(Group_translate_ranks) DO(Group_free) DO(Type_size_x) DO(Error_class) DO(Get_elements_x) DO(Query_thread)      \
            DO(Win_get_group) DO(Comm_idup) DO(Iallreduce) DO(Test) DO(Abort) DO(Comm_create_keyval) DO(Comm_set_attr)                    \
                DO(Comm_free_keyval) DO(Win_create_keyval) DO(Win_set_attr) DO(Win_free_keyval)
/* clang-format on */
#define DECLARE_USED(name) static __typeof__(&PMPI_##name) use_##name;
FOR_EACH_USED(DECLARE_USED)

/* Look up the functions. False: this is not MPI 3.0 or later. */
static bool find(void *(*look_up)(const char *name))
{
#define FIND_USED(name)                                                                                                \
    use_##name = (__typeof__(use_##name))look_up("PMPI_" #name);                                                       \
    if (use_##name == NULL)                                                                                            \
        return false;
    FOR_EACH_USED(FIND_USED)
    return true;
}

#endif
