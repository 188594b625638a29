/* The interrupted registers of aarch64, for unwind.c alone (_GNU_SOURCE). Async-signal-safe. */
#ifndef INCPROF_REGISTERS_AARCH64_H
#define INCPROF_REGISTERS_AARCH64_H

#include <stdint.h>
#include <ucontext.h>

#include "machine.h"

/* Registers by their DWARF numbers, as they were when the thread was interrupted. */
static inline uint64_t machine_register(const ucontext_t *context, unsigned int number)
{
    number &= DWARF_REGISTERS - 1;
    return number == DWARF_SP ? context->uc_mcontext.sp : context->uc_mcontext.regs[number];
}

static inline uint64_t machine_pc(const ucontext_t *context)
{
    return context->uc_mcontext.pc;
}

static inline uint64_t machine_link(const ucontext_t *context)
{
    return machine_address(context->uc_mcontext.regs[30]);
}

#endif
