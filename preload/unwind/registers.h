/* The interrupted registers, for unwind.c, return_search.c and extension_events.c alone (_GNU_SOURCE).
 * Async-signal-safe. */
#ifndef INCPROF_REGISTERS_H
#define INCPROF_REGISTERS_H

#include <stdint.h>
#include <ucontext.h>

#include "machine.h"

#if defined(__x86_64__)

/* Return a register of the interrupted thread by its DWARF number. */
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

/* Set what a walk that starts at this instruction needs. The function must not return before the walk has ended. */
static inline __attribute__((always_inline)) void machine_set_here(ucontext_t *context)
{
    greg_t *registers = context->uc_mcontext.gregs;
    __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
                     : "=&r"(registers[REG_RIP]), "=&r"(registers[REG_RSP]), "=&r"(registers[REG_RBP]));
}

#elif defined(__aarch64__)

/* Return a register of the interrupted thread by its DWARF number. */
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

/* Set what a walk that starts at this instruction needs. The function must not return before the walk has ended. */
static inline __attribute__((always_inline)) void machine_set_here(ucontext_t *context)
{
    mcontext_t *registers = &context->uc_mcontext;
    __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"
                     : "=&r"(registers->pc), "=&r"(registers->sp), "=&r"(registers->regs[29]),
                       "=&r"(registers->regs[30]));
}

#endif

#endif
