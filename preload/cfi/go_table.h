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

#include "cfi_table.h"
#include "elf_file.h"

struct go_table {
    uint8_t *data; /* NULL: there is none */
    uint64_t size;
    uint64_t text;                     /* link-time address that entries count from */
    uint64_t names, counts, functions; /* where these parts begin */
    uint64_t count;                    /* of functions */
    uint64_t next;                     /* that go_table_rules takes */
    uint64_t budget;                   /* bytes that may still be read */
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

/* Adds the rules of the next functions, those that lie in [low, high): to be asked for ascending ranges. False without
 * memory. */
bool go_table_rules(struct go_table *table, struct cfi_table *rules, uint64_t low, uint64_t high);

#endif
