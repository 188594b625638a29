/* Function entry on x86-64: mcount (after the frame is set up) and __fentry__ (before it).
 *
 * The fast path touches rax and r11 only, in the red zone, and adds one to a counter of the calling thread by a single
 * instruction: a signal handler that calls instrumented functions cannot get between. No lock, no atomic
 * read-modify-write. Async-signal-safe and thread-safe.
 *
 * It may run before anything is set up: the resolvers of ifuncs (target_clones, multiversioned C++) are instrumented
 * like any function, and the loader calls them while it relocates. Then the offset of incprof_tls is 0 (this library
 * is not relocated yet) or the thread's copy of it is (the TLS image is not copied yet): nothing is counted. Nor is it
 * where the thread's arcs are ARCS_NONE, a negative address. The mask is read before the address, so that a handler
 * which puts a larger table there, or none, between the two leaves a place in that table, or still a negative address.
 */
#include "arcs.h"

/* The function's return address is at `from`, the stub's own on top of the stack. */
.macro COUNT_ARC from
	movq	incprof_tls@gottpoff(%rip), %r11
	testq	%r11, %r11
	jz	5f
	movq	%rax, -8(%rsp)
	movq	\from, %rax
	shlq	$ARC_FROM_SHIFT, %rax
	addq	(%rsp), %rax
	andq	%fs:8(%r11), %rax
	addq	%fs:(%r11), %rax
	jle	4f
1:	movq	(%rsp), %r11
	cmpq	%r11, (%rax)
	jne	2f
	movq	\from, %r11
	cmpq	%r11, 8(%rax)
	jne	3f
	incq	16(%rax)
4:	movq	-8(%rsp), %rax
5:	ret
2:	cmpq	$0, (%rax)
	je	6f
3:	addq	$(1 << ARC_SHIFT), %rax
	jmp	1b
6:	movq	\from, %r11
	jmp	slow_path
.endm

	.text
	.p2align 6
	.globl	mcount
	.type	mcount, @function
	.globl	_mcount
	.type	_mcount, @function
mcount:
_mcount:
	.cfi_startproc
	endbr64
	COUNT_ARC 8(%rbp)
	.cfi_endproc
	.size	mcount, .-mcount
	.size	_mcount, .-_mcount

	.p2align 6
	.globl	__fentry__
	.type	__fentry__, @function
__fentry__:
	.cfi_startproc
	endbr64
	COUNT_ARC 8(%rsp)
	.cfi_endproc
	.size	__fentry__, .-__fentry__

/* r11: the function's return address; rax is in the red zone, where it stays. Every register that may carry an argument
 * is kept; the C part uses general registers only. */
	.type	slow_path, @function
slow_path:
	.cfi_startproc
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%r8
	.cfi_adjust_cfa_offset 8
	pushq	%r9
	.cfi_adjust_cfa_offset 8
	pushq	%r10
	.cfi_adjust_cfa_offset 8
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	andq	$-16, %rsp
	movq	%r11, %rdi
	movq	72(%rbp), %rsi
	call	incprof_count_slow
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_restore %rbp
	.cfi_def_cfa %rsp, 72
	popq	%r10
	.cfi_adjust_cfa_offset -8
	popq	%r9
	.cfi_adjust_cfa_offset -8
	popq	%r8
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	popq	%rax
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	slow_path, .-slow_path

	.section .note.GNU-stack, "", @progbits

/* Indirect branch tracking and shadow stacks: the loader switches both off for a process in which one object does not
 * say that it bears them. */
	.section .note.gnu.property, "a", @note
	.p2align 3
	.long	4, 16, 5
	.asciz	"GNU"
	.long	0xc0000002, 4, 3, 0
