/* The ways in. They are jumps: arguments, return address and stack are the program's, so that neither the MPI in use
 * nor its Fortran compiler matters. Fortran's say where they were called from, as the bindings behind them are not the
 * program. */
#ifndef __x86_64__
#error "this architecture has no entry stubs yet"
#endif

#define SLOT(row, kind) trace_slots + 8 * (5 * row + kind)(%rip)

#define WAY_IN(symbol, row, kind)                                                                                      \
    .globl symbol;                                                                                                     \
    .type symbol, @function;                                                                                           \
    .cfi_startproc;                                                                                                    \
    symbol: endbr64;                                                                                                   \
    jmp *SLOT(row, kind);                                                                                              \
    .size symbol, . - symbol;                                                                                          \
    first_##symbol: lea SLOT(row, kind), %r11;                                                                         \
    jmp resolve_first;                                                                                                 \
    .cfi_endproc;

#define FORTRAN_WAY_IN(symbol, row, kind)                                                                              \
    .globl symbol;                                                                                                     \
    .type symbol, @function;                                                                                           \
    .cfi_startproc;                                                                                                    \
    symbol: endbr64;                                                                                                   \
    mov trace_fortran_site@gottpoff(%rip), %r10;                                                                       \
    mov (%rsp), %r11;                                                                                                  \
    mov %r11, %fs:(%r10);                                                                                              \
    jmp *SLOT(row, kind);                                                                                              \
    .size symbol, . - symbol;                                                                                          \
    first_##symbol: lea SLOT(row, kind), %r11;                                                                         \
    jmp resolve_first;                                                                                                 \
    .cfi_endproc;

    .hidden trace_slots
    .hidden trace_resolve
    .hidden trace_fortran_site

    .text
/* %r11: the slot. Arguments are kept, those on the stack lie where they were; no MPI function takes a floating-point
 * number, but MPI_Pcontrol's further arguments may be some. */
    .type resolve_first, @function
resolve_first:
    .cfi_startproc
    push %rbp
    .cfi_adjust_cfa_offset 8
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    push %rax
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    push %r11
    sub $128, %rsp
    movaps %xmm0, (%rsp)
    movaps %xmm1, 16(%rsp)
    movaps %xmm2, 32(%rsp)
    movaps %xmm3, 48(%rsp)
    movaps %xmm4, 64(%rsp)
    movaps %xmm5, 80(%rsp)
    movaps %xmm6, 96(%rsp)
    movaps %xmm7, 112(%rsp)
    mov %r11, %rdi
    call trace_resolve
    mov %rax, %r10
    movaps (%rsp), %xmm0
    movaps 16(%rsp), %xmm1
    movaps 32(%rsp), %xmm2
    movaps 48(%rsp), %xmm3
    movaps 64(%rsp), %xmm4
    movaps 80(%rsp), %xmm5
    movaps 96(%rsp), %xmm6
    movaps 112(%rsp), %xmm7
    add $128, %rsp
    pop %r11
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    pop %rax
    pop %rbp
    .cfi_def_cfa %rsp, 8
    jmp *%r10
    .cfi_endproc
    .size resolve_first, . - resolve_first

    .set number, 0
#define CALL_(name, lower, ...)                                                                                        \
    WAY_IN(MPI_##name, number, 0)                                                                                      \
    WAY_IN(PMPI_##name, number, 1)                                                                                     \
    FORTRAN_WAY_IN(mpi_##lower##_, number, 2)                                                                          \
    FORTRAN_WAY_IN(mpi_##lower##_f08_, number, 3)                                                                      \
    FORTRAN_WAY_IN(mpi_##lower##_f08ts_, number, 4)                                                                    \
    .set number, number + 1;
#include "every_call.h"

    .section .data.rel, "aw"
    .balign 8
    .globl trace_slots
    .type trace_slots, @object
trace_slots:
#define CALL_(name, lower, ...)                                                                                        \
    .quad first_MPI_##name, first_PMPI_##name;                                                                         \
    .quad first_mpi_##lower##_, first_mpi_##lower##_f08_, first_mpi_##lower##_f08ts_;
#include "every_call.h"
    .size trace_slots, . - trace_slots

    .section .note.GNU-stack, "", @progbits
