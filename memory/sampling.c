/* Thread safety: `mode`, `mean` and `orphaned` are atomic; `end_key` is written once, at the start. Each thread has a
 * countdown of its own. */
#define _GNU_SOURCE
#include "sampling.h"

#include <pthread.h>
#include <string.h>

#include "sys.h"

#define IDLE_BYTES ((uint64_t)1 << 20) /* between two looks whether a recording has begun */

__thread struct countdown countdown;

static int mode = SAMPLING_LATER;
static uint64_t mean = 512 << 10;
static uint64_t orphaned;              /* bytes of threads that have ended, not reported yet */
static struct countdown *first_thread; /* lives as long as the process */
static pthread_key_t end_key;
static bool has_end_key;

void sampling_set(enum sampling_mode new_mode)
{
    __atomic_store_n(&mode, (int)new_mode, __ATOMIC_RELEASE);
}

enum sampling_mode sampling_mode(void)
{
    return (enum sampling_mode)__atomic_load_n(&mode, __ATOMIC_ACQUIRE);
}

void sampling_set_mean(uint64_t bytes)
{
    __atomic_store_n(&mean, bytes, __ATOMIC_RELAXED);
}

uint64_t sampling_mean(void)
{
    return __atomic_load_n(&mean, __ATOMIC_RELAXED);
}

void sampling_restart(void)
{
    uint32_t has_end = countdown.has_end;
    countdown = (struct countdown){.has_end = has_end};
    __atomic_store_n(&orphaned, 0, __ATOMIC_RELAXED);
}

void sampling_begin(void)
{
    first_thread = &countdown;
}

uint64_t sampling_outstanding(void)
{
    const struct countdown *first = first_thread;
    if (first == NULL || __atomic_load_n(&first->mean, __ATOMIC_RELAXED) == 0)
        return 0;
    uint64_t passed =
        __atomic_load_n(&first->filled, __ATOMIC_RELAXED) - __atomic_load_n(&first->left, __ATOMIC_RELAXED);
    return __atomic_load_n(&first->unreported, __ATOMIC_RELAXED) + (passed < (uint64_t)1 << 48 ? passed : 0) +
           __atomic_load_n(&orphaned, __ATOMIC_RELAXED);
}

/* xorshift64*, seeded by what differs from thread to thread. */
static uint64_t draw_bits(void)
{
    uint64_t state = countdown.random;
    if (state == 0)
        state = monotonic_ns() ^ (uintptr_t)&countdown << 20 ^ (uint64_t)SYS0(SYS_gettid) * 0x9e3779b97f4a7c15u;
    state |= state == 0;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    countdown.random = state;
    return state * 0x2545f4914f6cdd1du;
}

/* Return the natural logarithm of a number above 0, to some eleven digits. Not libm's: programs have functions of that
 * name. */
static double logarithm(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
    double part;
    memcpy(&part, &bits, sizeof part);
    if (part > 1.4142135623730951) {
        part /= 2;
        exponent++;
    }
    double ratio = (part - 1) / (part + 1);
    double square = ratio * ratio;
    double series = 1.0 / 13;
    for (int odd = 11; odd > 0; odd -= 2)
        series = series * square + 1.0 / odd;
    return exponent * 0.6931471805599453 + 2 * ratio * series;
}

static uint64_t draw_bytes(uint64_t of_mean)
{
    double uniform = ((double)(draw_bits() >> 11) + 1) * 0x1p-53;
    return (uint64_t)(-logarithm(uniform) * (double)of_mean) + 1;
}

/* Let this many bytes pass, at first as many as are surely smaller than a certain allocation. */
static void fill(uint64_t bytes)
{
    uint64_t most = SAMPLING_CERTAIN * countdown.mean - 1;
    countdown.filled = countdown.left = bytes < most ? bytes : most;
    countdown.rest = bytes - countdown.left;
}

static void settle(void)
{
    countdown.unreported += countdown.filled - countdown.left;
    countdown.filled = countdown.left;
}

static void on_thread_end(void *unused)
{
    (void)unused;
    settle();
    __atomic_fetch_add(&orphaned, countdown.unreported, __ATOMIC_RELAXED);
    countdown.unreported = 0;
    countdown.has_end = 0;
}

__attribute__((constructor)) static void make_key(void)
{
    has_end_key = pthread_key_create(&end_key, on_thread_end) == 0;
}

static void note_end(void)
{
    countdown.has_end = 1; /* first: libc may allocate */
    if (has_end_key)
        pthread_setspecific(end_key, &countdown);
}

/* Let bytes pass without counting them. */
static void idle(size_t bytes, uint64_t until)
{
    countdown.filled = countdown.left = until > bytes ? until - bytes : 0;
    countdown.rest = countdown.mean = countdown.unreported = 0;
}

bool sampling_pick(size_t bytes, struct pick *pick)
{
    countdown.left += bytes; /* sampling_pass has subtracted them */
    enum sampling_mode now = sampling_mode();
    if (now != SAMPLING_ON) {
        idle(bytes, now == SAMPLING_OFF ? UINT64_MAX / 2 : IDLE_BYTES);
        return false;
    }
    if (countdown.has_end == 0)
        note_end();
    if (countdown.mean == 0) {
        countdown.mean = sampling_mean();
        fill(draw_bytes(countdown.mean));
    }
    settle();
    *pick = (struct pick){.mean = countdown.mean, .is_certain = bytes >= SAMPLING_CERTAIN * countdown.mean};
    if (pick->is_certain) {
        countdown.unreported += bytes < (uint64_t)1 << 47 ? bytes : 0;
        return true;
    }
    uint64_t all = countdown.left + countdown.rest;
    countdown.unreported += bytes;
    bool is_picked = bytes > all;
    if (is_picked)
        countdown.mean = sampling_mean();
    fill(is_picked ? draw_bytes(countdown.mean) : all - bytes);
    return is_picked;
}

uint64_t sampling_take_bytes(void)
{
    settle();
    uint64_t bytes = countdown.unreported + __atomic_exchange_n(&orphaned, 0, __ATOMIC_RELAXED);
    countdown.unreported = 0;
    return bytes;
}

void sampling_put_back(uint64_t bytes)
{
    countdown.unreported += bytes;
}
