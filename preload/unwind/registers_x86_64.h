/* The interrupted registers of x86-64, for unwind.c alone (_GNU_SOURCE). Async-signal-safe. */
#ifndef INCPROF_REGISTERS_X86_64_H
#define INCPROF_REGISTERS_X86_64_H

#include <stdint.h>
#include <ucontext.h>

#include "machine.h"

/* Registers by their DWARF numbers, as they were when the thread was interrupted. */
static inline uint64_t machine_register(const ucontext_t *context, unsigned int number)
{
    static const uint8_t order[DWARF_REGISTERS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                   REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                   REG_R12, REG_R13, REG_R14, REG_R15};
    return (uint64_t)context->uc_mcontext.gregs[order[number & (DWARF_REGISTERS - 1)]];
}

static inline uint64_t machine_pc(const ucontext_t *context)
{
    return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
}

static inline uint64_t machine_link(const ucontext_t *context)
{
    (void)context;
    return 0;
}

#endif
