/* x86-64: a call pushes the return address, so that it is always right below the caller's frame. */
#ifndef INCPROF_MACHINE_X86_64_H
#define INCPROF_MACHINE_X86_64_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINE_ELF EM_X86_64
#define MACHINE_HAS_LINK_REGISTER 0
#define MACHINE_PAGE ((size_t)4096)

/* DWARF's numbers: frame pointer, stack pointer, and the column of the return address. */
enum { DWARF_FP = 6, DWARF_SP = 7, DWARF_RA = 16, DWARF_REGISTERS = 16 };

/* Where the return address is, from the canonical frame address on, unless the tables say otherwise. */
#define RETURN_OFFSET (-8)

/* What a function without a frame has at the least between its stack pointer and its caller's. */
#define LEAST_FRAME 8

/* Offsets into the signal frame that the kernel pushed, from the rsp with which its restorer runs (struct ucontext). */
enum { SIGNAL_FP = 120, SIGNAL_SP = 160, SIGNAL_PC = 168 };

/* The address that a return goes to. */
static inline uint64_t machine_address(uint64_t pc)
{
    return pc;
}

#endif
