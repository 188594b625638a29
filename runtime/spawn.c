/* Thread safety: `entered` and `thread_being_created` are written before a thread is created, by the application's
 * thread or, for the next one, by the created thread after it has read them. A `struct spawned` belongs to the caller.
 */
#define _GNU_SOURCE
#include "spawn.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "sys.h"

#define STACK_BYTES ((size_t)256 << 10)
#define BLOCK_BYTES ((size_t)64 << 10) /* on either side of the thread pointer */

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED true
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif

static int (*entered)(void *);
static struct spawned *thread_being_created;

/* Return whether this runs under Valgrind, by the request of its valgrind.h: a sequence of instructions that does
 * nothing on a real processor. */
static bool is_valgrind(void)
{
    uint64_t answer = 0;
#if defined(__x86_64__)
    volatile uint64_t question[6] = {0x1001};
    __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\txchgq %%rbx, %%rbx"
                     : "=d"(answer)
                     : "a"(question), "0"(answer)
                     : "cc", "memory");
#elif defined(__aarch64__)
    volatile uint64_t question[6] = {0x1001};
    __asm__ volatile("mov x3, #0\n\tmov x4, %1\n\tror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\t"
                     "ror x12, x12, #61\n\torr x10, x10, x10\n\tmov %0, x3"
                     : "=r"(answer)
                     : "r"(question)
                     : "cc", "memory", "x3", "x4");
#endif
    return answer != 0;
}

static void *enter_by_pthread(void *unused)
{
    __atomic_store_n(&thread_being_created->tid, (pid_t)SYS0(SYS_gettid), __ATOMIC_RELAXED);
    SYS1(SYS_unshare, CLONE_FILES | CLONE_FS);
    entered(unused);
    return NULL;
}

static bool spawn_by_pthread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, enter_by_pthread, NULL) != 0)
        return false;
    pthread_detach(thread);
    return true;
}

/* Run the thread; its exit ends the process only if it is the last thread. */
static __attribute__((noreturn, used)) void enter_by_clone(void)
{
    int code = entered(NULL);
    for (;;)
        SYS1(SYS_exit, code);
}

/* Create a thread that calls enter_by_clone on `top` of its stack, without libc's clone, which a sanitizer may replace
 * by a version unsuitable for threads unknown to libc. Returns the thread's id or negative errno. */
static long clone_raw(long flags, void *top, void *thread_pointer)
{
#if defined(__x86_64__)
    long made;
    register long child_tid __asm__("r10") = 0;
    register void *tls __asm__("r8") = thread_pointer;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t" /* the outermost frame */
                     "call %P[enter]\n"
                     "1:"
                     : "=a"(made)
                     : "a"(SYS_clone), "D"(flags), "S"(top), "d"(0), "r"(child_tid),
                       "r"(tls), [enter] "i"(enter_by_clone)
                     : "rcx", "r11", "cc", "memory");
    return made;
#elif defined(__aarch64__)
    register long number __asm__("x8") = SYS_clone;
    register long made __asm__("x0") = flags;
    register void *stack_pointer __asm__("x1") = top;
    register long parent_tid __asm__("x2") = 0;
    register void *tls __asm__("x3") = thread_pointer;
    register long child_tid __asm__("x4") = 0;
    __asm__ volatile("svc 0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, xzr\n\t"
                     "mov x30, xzr\n\t"
                     "b %[enter]\n"
                     "1:"
                     : "+r"(made)
                     : "r"(number), "r"(stack_pointer), "r"(parent_tid), "r"(tls),
                       "r"(child_tid), [enter] "S"(enter_by_clone)
                     : "cc", "memory");
    return made;
#endif
}

/* Set up the thread's own thread block, because the block of the creating thread ends with that thread. It is empty:
 * compiled code uses only the stack canary, which may be 0, and the block's own address. */
static void *thread_block(uint8_t *block)
{
    uint8_t *pointer = block + BLOCK_BYTES;
#if defined(__x86_64__)
    const struct {
        void *self, *vector, *descriptor;
        int has_threads;
    } head = {pointer, NULL, pointer, 1};
    memcpy(pointer, &head, sizeof head);
#endif
    return pointer;
}

/* Create a thread unknown to libc. Returns 0 or negative errno. */
static long spawn_by_clone(struct spawned *spawned, long more_flags)
{
    const long flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | more_flags;
    uint8_t *stack = spawned->stack = sys_alloc(STACK_BYTES + 2 * BLOCK_BYTES);
    if (stack == NULL)
        return -ENOMEM;
    SYS3(SYS_mprotect, stack, 4096, PROT_NONE);
    long made = clone_raw(flags, stack + STACK_BYTES, thread_block(stack + STACK_BYTES));
    if (made > 0) {
        __atomic_store_n(&spawned->tid, (pid_t)made, __ATOMIC_RELAXED);
        return 0;
    }
    spawn_forget(spawned);
    return made;
}

static bool needs_registration(void)
{
    return IS_SANITIZED || is_valgrind();
}

/* An emulator rejects these flags. */
bool spawn(struct spawned *spawned, int (*enter)(void *))
{
    entered = enter;
    thread_being_created = spawned;
    if (needs_registration())
        return spawn_by_pthread();
    long error = spawn_by_clone(spawned, 0);
    return error == -EINVAL ? spawn_by_pthread() : error == 0;
}

bool spawn_sharing_files(struct spawned *spawned, int (*enter)(void *))
{
    entered = enter;
    return !needs_registration() && spawn_by_clone(spawned, CLONE_FILES | CLONE_FS) == 0;
}

bool spawn_is_slow(void)
{
    return is_valgrind();
}

pid_t spawn_tid(const struct spawned *spawned)
{
    return __atomic_load_n(&spawned->tid, __ATOMIC_RELAXED);
}

void spawn_forget(struct spawned *spawned)
{
    sys_free(spawned->stack, STACK_BYTES + 2 * BLOCK_BYTES);
    *spawned = (struct spawned){0};
}
