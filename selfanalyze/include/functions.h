/* The functions that hold parallel regions, by address, and where they lie in their files. Libraries come and go: what
 * lay at an address may be another function by now. */
#ifndef SELFANALYZE_FUNCTIONS_H
#define SELFANALYZE_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#define MOST_FUNCTIONS 4096
#define MOST_MODULES 64

struct module {
    char path[512];
    char build_id[72]; /* hexadecimal; empty without one */
};

/* `value` is the same in every run of the same program: it is made of the module's build-id and the link-time address.
 * All of it is written before the function is first seen by another thread. */
struct function {
    uint64_t address; /* at link time; in this process where the module is unknown */
    int64_t value;
    uint32_t id, module; /* module: index, or MOST_MODULES where it is unknown */
};

/* FNV-1a, as in `value`. Pure. */
uint64_t functions_hash(const char *text);

/* For the watched thread. There is one for every address: the last of MOST_FUNCTIONS stands for all later ones. */
const struct function *functions_find(const void *address);

/* Any thread. */
size_t functions_count(void);
const struct function *functions_get(size_t id);
const struct module *functions_module(size_t id);

#endif
