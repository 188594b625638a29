/* Raw system calls, usable without libc: in the signal handler and in the interval thread, which has no errno and no
 * other per-thread data of libc.
 *
 * Everything here is async-signal-safe and thread-safe. Results are the kernel's: negative errno on failure.
 */
#ifndef RUNTIME_SYS_H
#define RUNTIME_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

/* The vDSO's clock_gettime, which reads a clock without a system call. libc's wrapper needs libc's thread-local memory:
 * before glibc 2.31 for the pointer guard; a sanitizer's wrapper needs it for its thread. */

/* Return 0 or negative errno, as the kernel's clock_gettime. It is looked up when the library is loaded; until then,
 * and without a vDSO, it is a system call. Async-signal-safe and thread-safe. */
extern int (*vdso_clock_gettime)(clockid_t clock, struct timespec *now);

#if defined(__x86_64__)
static inline long sys6(long n, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
static inline long sys6(long n, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = n;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
    return x0;
}
#else
#error "this architecture has no system call stub yet"
#endif

#define SYS0(n) sys6(n, 0, 0, 0, 0, 0, 0)
#define SYS1(n, a) sys6(n, (long)(a), 0, 0, 0, 0, 0)
#define SYS2(n, a, b) sys6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define SYS3(n, a, b, c) sys6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SYS4(n, a, b, c, d) sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define SYS5(n, a, b, c, d, e) sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define SYS6(n, a, b, c, d, e, f) sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* An entry in a buffer filled by SYS_getdents64. */
struct sys_directory_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

static inline int sys_open(const char *path, int flags, int mode)
{
    return (int)SYS4(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

/* Newer architectures have only the calls whose names end in `at`. */
static inline long sys_unlink(const char *path)
{
    return SYS3(SYS_unlinkat, AT_FDCWD, path, 0);
}

static inline long sys_mkdir(const char *path, int mode)
{
    return SYS3(SYS_mkdirat, AT_FDCWD, path, mode);
}

static inline long sys_readlink(const char *path, char *into, size_t size)
{
    return SYS4(SYS_readlinkat, AT_FDCWD, path, into, size);
}

static inline void sys_close(int fd)
{
    SYS1(SYS_close, fd);
}

/* Allocate anonymous zeroed memory; NULL on failure. */
static inline void *sys_alloc(size_t bytes)
{
    long at = SYS6(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at < 0 && at > -4096 ? NULL : (void *)at;
}

/* The same, without populating it under mlockall(MCL_FUTURE): for memory that most threads use only in part. */
static inline void *sys_alloc_untouched(size_t bytes)
{
    long at = SYS6(SYS_mmap, 0, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at < 0 && at > -4096)
        return NULL;
    SYS2(SYS_munlock, at, bytes);
    if (SYS3(SYS_mprotect, at, bytes, PROT_READ | PROT_WRITE) == 0)
        return (void *)at;
    SYS2(SYS_munmap, at, bytes);
    return NULL;
}

static inline void sys_free(void *memory, size_t bytes)
{
    if (memory != NULL)
        SYS2(SYS_munmap, memory, bytes);
}

/* Block all signals in the calling thread, including libc's own; return the previous mask. */
static inline uint64_t sys_block_signals(void)
{
    const uint64_t all = ~(uint64_t)0;
    uint64_t mask = 0;
    SYS4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &mask, sizeof all);
    return mask;
}

static inline void sys_set_signal_mask(uint64_t mask)
{
    SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
}

/* Return the id of a thread's CPU clock, by the kernel's numbering. */
static inline clockid_t sys_thread_clock(pid_t tid)
{
    return (clockid_t)(~(unsigned int)tid << 3 | 6);
}

static inline uint64_t sys_clock_ns(clockid_t clock)
{
    struct timespec now = {0, 0};
    if (SYS2(SYS_clock_gettime, clock, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Return the time of CLOCK_MONOTONIC, which never fails. */
static inline uint64_t monotonic_ns(void)
{
    struct timespec now;
    vdso_clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Read exactly `bytes` at `offset`, or fail. */
static inline bool sys_pread_all(int fd, void *into, size_t bytes, uint64_t offset)
{
    char *at = into;
    while (bytes > 0) {
        long got = SYS4(SYS_pread64, fd, at, bytes, offset);
        if (got == -EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        bytes -= (size_t)got;
        offset += (uint64_t)got;
    }
    return true;
}

/* A time by two clocks: CLOCK_MONOTONIC and the processor's counter. Async-signal-safe and thread-safe. */
#define MOMENT_ATTEMPTS 5

struct moment {
    uint64_t ns, ticks;
};

/* Return the pair that was read in the shortest time, without an interruption between its halves. */
static inline struct moment moment_now(uint64_t (*counter)(void))
{
    struct moment best = {0, 0};
    uint64_t shortest = UINT64_MAX;
    for (int attempt = 0; attempt < MOMENT_ATTEMPTS; attempt++) {
        uint64_t before = counter();
        uint64_t ns = monotonic_ns();
        uint64_t after = counter();
        if (after - before >= shortest)
            continue;
        shortest = after - before;
        best = (struct moment){ns, before + shortest / 2};
    }
    return best;
}

#endif
