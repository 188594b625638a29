/* The code of the C library that starts programs and threads, where it is linked into a program: static ones have it
 * beside their own, and its functions are nobody's. And main, from which on a path is whole, whatever has called it.
 *
 * Async-signal-safe; thread-safe once it is found.
 */
#ifndef INCPROF_START_CODE_H
#define INCPROF_START_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "elf_file.h"

#define START_PARTS 16

struct address_range {
    uint64_t low, high; /* link-time addresses */
};

struct start_code {
    struct address_range main;
    struct address_range parts[START_PARTS];
    uint64_t count;
};

/* By the symbols of a program; without any there is nothing. */
void start_code_find(struct start_code *start, const struct elf_file *elf);

bool start_code_has(const struct start_code *start, uint64_t address);
bool start_code_is_main(const struct start_code *start, uint64_t address);

#endif
