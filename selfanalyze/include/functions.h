/* The functions that contain parallel regions, by address, and their positions in their files. Libraries are loaded and
 * unloaded, so an address may belong to another function later. */
#ifndef SELFANALYZE_FUNCTIONS_H
#define SELFANALYZE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_FUNCTIONS 4096
#define MOST_MODULES 64

struct module {
    char path[512];
    char build_id[72]; /* hexadecimal; empty without one */
};

/* `value` is the same in every run of the same program: it is computed from the module's build-id and the link-time
 * address. All of it is written before the function is visible to another thread. */
struct function {
    uint64_t address; /* at link time; in this process if the module is unknown */
    int64_t value;
    uint32_t id, module; /* module: index, or MOST_MODULES if unknown */
};

/* Return the FNV-1a hash, as in `value`. Pure. */
uint64_t functions_hash(const char *text);

/* Return the function at an address; never NULL: the last of MOST_FUNCTIONS stands for all later ones. For the watched
 * thread. */
const struct function *functions_find(const void *address);

/* Any thread. */
size_t functions_count(void);
const struct function *functions_get(size_t id);
const struct module *functions_module(size_t id);

/* Validity of cached data about loaded code: the addresses of a closed library may be reused. */

/* Return a non-zero number that changes with each unload: cached data about running code is valid while it stays the
 * same. Takes no system call or lock, except during a dlclose: then it takes the loader's lock for the list of objects,
 * which is not held while destructors run, because those may wait for the caller. Thread-safe. */
uint64_t closes_epoch(void);

/* dlclose for the handle of an object that stays loaded: the number does not change. */
int closes_nothing(void *handle);

#endif
