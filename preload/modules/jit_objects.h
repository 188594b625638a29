/* What a program tells a debugger of the code that it makes as it runs: a list of ELF objects in its memory, which LLVM
 * (so numba, Julia and others) and whatever else can be debugged keeps by itself, without any option. Interval thread;
 * async-signal-safe. */
#ifndef INCPROF_JIT_OBJECTS_H
#define INCPROF_JIT_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "jit_lines.h"

#define JIT_OBJECTS_LISTS 4 /* each library that makes code has one */

struct jit_objects {
    size_t modules_seen;
    size_t count;
    struct jit_objects_list {
        uint64_t address, newest; /* of the list's head, and of the object that was its first one */
    } lists[JIT_OBJECTS_LISTS];
};

/* Takes the functions of objects that have come. */
void jit_objects_read(struct jit_objects *objects, struct jit_lines *lines);

#endif
