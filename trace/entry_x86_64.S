/* The entry points of the wrapped functions. They are jumps: arguments, return address and stack are the program's, so
 * they work with any MPI and any Fortran compiler. The target of a call depends on the object that makes it (resolve.h).
 * Fortran's entry points record their return address, because the bindings behind them are not the program. */
#ifndef __x86_64__
#error "this architecture has no entry stubs yet"
#endif

    .hidden trace_resolutions
    .hidden trace_resolve
    .hidden trace_fortran_site
    .hidden trace_choose
    .hidden trace_before_dlopen
    .hidden trace_before_dlsym

/* For each name: the entry point, followed by the resolver that the loader calls to learn whether the name is defined
 * (name_visibility.c). */
    .set number, 0
#define ENTRY_POINT(symbol, kind)                                                                                      \
    .globl symbol;                                                                                                     \
    .type symbol, @function;                                                                                           \
    .balign 32;                                                                                                        \
    .cfi_startproc;                                                                                                    \
    symbol: endbr64;                                                                                                   \
    mov $number, %r11d;                                                                                                \
    jmp continue_from_##kind;                                                                                          \
    .size symbol, . - symbol;                                                                                          \
    .balign 16;                                                                                                        \
    endbr64;                                                                                                           \
    mov $number, %edi;                                                                                                 \
    jmp trace_choose;                                                                                                  \
    .cfi_endproc;                                                                                                      \
    .set number, number + 1;

    .text
/* %r11: the number of the name. All other registers are kept but %r10: %rax belongs to variable arguments. */
    .type continue_from_fortran, @function
continue_from_fortran:
    .cfi_startproc
    push %rax
    .cfi_adjust_cfa_offset 8
    mov trace_fortran_site@gottpoff(%rip), %r10
    mov 8(%rsp), %rax
    mov %rax, %fs:(%r10)
    pop %rax
    .cfi_adjust_cfa_offset -8
    jmp continue_from_c
    .cfi_endproc
    .size continue_from_fortran, . - continue_from_fortran

/* The first resolution of the name (struct resolution) whose range the return address lies in. */
    .type continue_from_c, @function
continue_from_c:
    .cfi_startproc
    push %rax
    .cfi_adjust_cfa_offset 8
    lea trace_resolutions(%rip), %r10
    mov (%r10, %r11, 8), %r10
1:  test %r10, %r10
    jz 3f
    mov 8(%rsp), %rax
    sub (%r10), %rax
    cmp 8(%r10), %rax
    jb 2f
    mov 24(%r10), %r10
    jmp 1b
2:  pop %rax
    .cfi_remember_state
    .cfi_adjust_cfa_offset -8
    jmp *16(%r10)
3:  .cfi_restore_state
    pop %rax
    .cfi_adjust_cfa_offset -8
    jmp resolve_first
    .cfi_endproc
    .size continue_from_c, . - continue_from_c

/* %r11: the number of the name. Arguments are kept, those on the stack lie where they were; no MPI function takes a
 * floating-point number, but MPI_Pcontrol's further arguments may be some. */
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
    sub $136, %rsp
    movaps %xmm0, (%rsp)
    movaps %xmm1, 16(%rsp)
    movaps %xmm2, 32(%rsp)
    movaps %xmm3, 48(%rsp)
    movaps %xmm4, 64(%rsp)
    movaps %xmm5, 80(%rsp)
    movaps %xmm6, 96(%rsp)
    movaps %xmm7, 112(%rsp)
    mov %r11d, %edi
    mov 8(%rbp), %rsi
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
    add $136, %rsp
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

/* The order is that of resolve.h. */
    .balign 32
    .globl trace_entry_points
    .hidden trace_entry_points
trace_entry_points:
#define CALL_(name, lower, ...)                                                                                        \
    ENTRY_POINT(MPI_##name, c)                                                                                         \
    ENTRY_POINT(PMPI_##name, c)                                                                                        \
    ENTRY_POINT(mpi_##lower##_, fortran)                                                                               \
    ENTRY_POINT(mpi_##lower##_f08_, fortran)                                                                           \
    ENTRY_POINT(mpi_##lower##_f08ts_, fortran)
#include "every_call.h"
#define OTHER(name) ENTRY_POINT(MPI_##name, c) ENTRY_POINT(PMPI_##name, c)
#include "other_calls.h"

    .balign 32
    .globl trace_entry_points_end
    .hidden trace_entry_points_end
trace_entry_points_end:

/* Those behind them ask who has called: that is the program. */
#define BEFORE(symbol)                                                                                                 \
    .globl symbol;                                                                                                     \
    .type symbol, @function;                                                                                           \
    .cfi_startproc;                                                                                                    \
    symbol: endbr64;                                                                                                   \
    push %rdi;                                                                                                         \
    .cfi_adjust_cfa_offset 8;                                                                                          \
    push %rsi;                                                                                                         \
    .cfi_adjust_cfa_offset 8;                                                                                          \
    sub $8, %rsp;                                                                                                      \
    .cfi_adjust_cfa_offset 8;                                                                                          \
    mov 24(%rsp), %rdx; /* what they are called with has two arguments */                                              \
    call trace_before_##symbol;                                                                                        \
    add $8, %rsp;                                                                                                      \
    .cfi_adjust_cfa_offset -8;                                                                                         \
    pop %rsi;                                                                                                          \
    .cfi_adjust_cfa_offset -8;                                                                                         \
    pop %rdi;                                                                                                          \
    .cfi_adjust_cfa_offset -8;                                                                                         \
    jmp *%rax;                                                                                                         \
    .cfi_endproc;                                                                                                      \
    .size symbol, . - symbol;

    BEFORE(dlopen)
    BEFORE(dlsym)

/* What a call that no MPI is there for comes to: MPI_ERR_OTHER, or thereabouts; as a floating-point number, 0. */
    .globl trace_no_mpi
    .hidden trace_no_mpi
    .type trace_no_mpi, @function
trace_no_mpi:
    .cfi_startproc
    endbr64
    mov $15, %eax
    pxor %xmm0, %xmm0
    ret
    .cfi_endproc
    .size trace_no_mpi, . - trace_no_mpi

    .section .note.GNU-stack, "", @progbits
