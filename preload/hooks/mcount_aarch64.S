/* Function entry on aarch64: _mcount, which the compilers call like any function, with the return address of the one
 * that was entered in x0: whatever may carry an argument of that one they have saved. No vector register is touched
 * all the same.
 *
 * The fast path adds one to a counter of the calling thread. A signal handler that calls instrumented functions may
 * come between the load and the store: the store fails then, and the addition is made again. No lock, no barrier.
 * Async-signal-safe and thread-safe.
 *
 * It may run before anything is set up: the resolvers of ifuncs are instrumented like any function, and the loader calls
 * them while it relocates. Then the offset of incprof_tls is 0 (this library is not relocated yet) or the thread's copy
 * of it is (the TLS image is not copied yet): nothing is counted. Nor is it where the thread's arcs are ARCS_NONE.
 */
#include "arcs.h"

	.text
	.p2align 6
	.globl	_mcount
	.type	_mcount, %function
_mcount:
	.cfi_startproc
	hint	#34				/* bti c */
	adrp	x9, :gottprel:incprof_tls
	ldr	x9, [x9, :gottprel_lo12:incprof_tls]
	cbz	x9, 4f
	mrs	x10, tpidr_el0
	add	x9, x10, x9
	ldp	x10, x11, [x9]			/* at once: a handler may put a larger table there */
	cmp	x10, #0				/* not copied yet, or ARCS_NONE */
	b.le	4f
	mov	x1, x30				/* in the function */
	.cfi_register x30, x1
	mov	x30, x0
	hint	#7				/* xpaclri: compilers before GCC 11 pass it signed */
	mov	x0, x30				/* in its caller */
	mov	x30, x1
	.cfi_same_value x30
	add	x12, x1, x0, lsl #ARC_FROM_SHIFT
	and	x12, x11, x12
	add	x12, x10, x12
1:	ldp	x13, x14, [x12], #16
	cmp	x13, x1
	b.ne	2f
	cmp	x14, x0
	b.ne	3f
5:	ldxr	x13, [x12]
	add	x13, x13, #1
	stxr	w14, x13, [x12]
	cbnz	w14, 5b
4:	ret
2:	cbz	x13, incprof_count_slow		/* (from, self); it returns to the function */
3:	add	x12, x12, #((1 << ARC_SHIFT) - 16)
	b	1b
	.cfi_endproc
	.size	_mcount, .-_mcount

	.section .note.GNU-stack, "", %progbits

/* Branch target identification and pointer authentication: the linker drops both for a library in which one object
 * does not say that it bears them. */
	.section .note.gnu.property, "a", %note
	.p2align 3
	.long	4, 16, 5
	.asciz	"GNU"
	.long	0xc0000000, 4, 3, 0
