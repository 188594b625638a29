/* The table of a Go program's functions that its run-time walks stacks by (.gopclntab of Go 1.16 and later), which
 * stays when the program is stripped: names, and how far the stack pointer is from a frame's end at each instruction.
 *
 * Every offset in it is checked: the file may be damaged or hostile. Async-signal-safe, not thread-safe per object.
 */
#ifndef INCPROF_GO_TABLE_H
#define INCPROF_GO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi_row.h"
#include "elf_file.h"

struct go_table {
    uint8_t *data; /* NULL: there is none */
    uint64_t size;
    uint64_t text;                     /* link-time address that entries count from */
    uint64_t names, counts, functions; /* where these parts begin */
    uint64_t count;                    /* of functions */
    uint8_t entry_bytes, quantum;
};

struct go_function {
    uint64_t low, high; /* link-time addresses */
    const char *name;
    uint64_t stack; /* where its changes of the stack pointer begin; 0: it says nothing */
};

/* Finds the table of an object. False where there is none that is understood. */
bool go_table_open(struct go_table *table, const struct elf_file *elf);
void go_table_close(struct go_table *table);

/* The function of this number, in the order of addresses. False where the table contradicts itself. */
bool go_table_function(const struct go_table *table, uint64_t number, struct go_function *function);

static inline bool go_table_has(const struct go_table *table)
{
    return table->data != NULL;
}

/* The rule that holds at an address; CFA_NONE where there is none. `origin`: what the row's addresses count from.
 * Async-signal-safe and thread-safe, as what follows go_table_open is. */
struct cfi_row go_table_rule(const struct go_table *table, uint64_t address, uint64_t origin);

#endif
