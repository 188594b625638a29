/* AppEKG: heartbeats of a program's phases, cheap enough to stay on in production.
 *
 * A beat is one execution of a phase, between ekg_begin(id) and ekg_end(id). Beats are not recorded one by one: per
 * interval, thread and id the library keeps their number and the sum, minimum, maximum and sum of squares of their
 * durations, and a separate thread writes them at the end of each interval. See docs/use/appekg.md.
 *
 * Thread safety: every function may be called from any thread at any time. Beats of different threads share no written
 * data. Async-signal-safety is stated per function. No function writes errno, and none fails visibly: beats that cannot
 * be recorded are counted, and the count is in the output.
 *
 * With -DEKG_OFF every call is removed, and its arguments are not evaluated.
 */
#ifndef APPEKG_H
#define APPEKG_H

#include <stddef.h>
#include <stdint.h>

/* Options of ekg_init. Zero means the default. The environment overrides both, so that the program's user has the last
 * word. `reserved` must be zero. */
struct ekg_options {
    const char *directory; /* EKG_DIR: the run directory; default ekg-<app>[-<job>] */
    const char *sinks;     /* EKG_SINK: file, prometheus, ldms, none, or several, comma-separated; default file */
    double interval_s;     /* EKG_INTERVAL: 0.001 to 86400; default 1 */
    uint32_t rate_factor;  /* EKG_RATE: record one beat in this many, for ids without their own factor; default 1 */
    uint32_t start_off;    /* EKG_START=off: not 0: record nothing until switched on */
    uint64_t reserved[8];
};

#ifdef EKG_OFF

#ifdef __clang__ /* warns of an unused value outside of macros only; a statement expression is code with -O0 */
#define ekg_init(options) ((void)sizeof(options), -1)
#define ekg_cost(pair_ns, skipped_ns) ((void)(sizeof(pair_ns) + sizeof(skipped_ns)), -1)
#else
#define ekg_init(options)                                                                                              \
    (__extension__({                                                                                                   \
        (void)sizeof(options);                                                                                         \
        -1;                                                                                                            \
    }))
#define ekg_cost(pair_ns, skipped_ns)                                                                                  \
    (__extension__({                                                                                                   \
        (void)(sizeof(pair_ns) + sizeof(skipped_ns));                                                                  \
        -1;                                                                                                            \
    }))
#endif
#define ekg_finalize() ((void)0)
#define ekg_begin(id) ((void)sizeof(+(id)))
#define ekg_end(id) ((void)sizeof(+(id)))
#define ekg_pulse(id) ((void)sizeof(+(id)))
#define ekg_name(id, name) ((void)(sizeof(+(id)) + sizeof(name)))
#define ekg_rate(id, factor) ((void)(sizeof(+(id)) + sizeof(+(factor))))
#define ekg_enable() ((void)0)
#define ekg_disable() ((void)0)
#define ekg_is_enabled() (0)
#define EKG_SCOPE(id) ((void)sizeof(+(id)))

#ifdef __cplusplus
namespace appekg
{
class Scope
{
  public:
    explicit constexpr Scope(uint32_t) {}
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
};
} /* namespace appekg */
#endif

#else /* not EKG_OFF */

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* Start heartbeats; NULL for environment and defaults. Optional: the first beat does it too. Returns 0 if heartbeats
 * are recorded from now on, 1 if they already were (the options are ignored), -1 if they are not (EKG_DISABLE, or one
 * line on stderr gives the reason); the program may continue in any case. Not async-signal-safe. */
int ekg_init(const struct ekg_options *options);

/* Write the open interval and end heartbeats for good: later calls do nothing. Called automatically at exit. Waits for
 * two seconds at most. Does nothing before heartbeats have started, or a second time. Not async-signal-safe. */
void ekg_finalize(void);

/* Name an id (truncated to 119 bytes), and set its rate factor: 1 beat in `factor` is recorded, with the beats nested
 * in it; a lower factor applies at once, a higher one from the next recorded beat on. Not async-signal-safe. */
void ekg_name(uint32_t id, const char *name);
void ekg_rate(uint32_t id, uint32_t factor);

/* Switch recording at run time. Beats that are open at a switch-off are forgotten. Async-signal-safe. */
void ekg_enable(void);
void ekg_disable(void);
int ekg_is_enabled(void);

/* Measure the cost of a heartbeat on this machine, in nanoseconds: of a begin and an end that are recorded, and of ones
 * skipped by a rate factor. Starts nothing: it may be called before the first beat. Takes 0.1 ms, or slightly more the
 * first time. Returns 0, or -1 if nothing could be measured. Not async-signal-safe. */
int ekg_cost(double *pair_ns, double *skipped_ns);

/* ------------------------------------------------------------------------------------------------------------------
 * From here to the next line: internals of the inlined calls. Not for use by programs; they change with the soname. */

#define EKG_SLOTS_ 8192u /* distinct ids in one thread; a power of two */

/* A thread's record of one id. */
struct ekg_slot_ {
    uint64_t key;      /* ekg_key_ of the id, and of ekg_shared_.on at the record's last set-up */
    uint64_t skipping; /* beats to skip before the next recorded one; above, open skipped beats */
    uint32_t depth;    /* open beats, without skipped ones */
    uint32_t revoked;  /* another thread has ended one of them; the owner checks before its next end */
    uint64_t start;    /* counter when the outermost open beat began */
    uint64_t private_[28];
};

#define EKG_SKIPPED_ ((uint64_t)1 << 32)

#if defined(__SANITIZE_THREAD__)
#define EKG_WATCHED_
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EKG_WATCHED_
#endif
#endif

/* Read at every begin and end, changed rarely. */
struct ekg_shared_ {
    uint32_t on;   /* 0 when off, otherwise number of switch-ons */
    uint32_t mode; /* EKG_CAREFUL_, and the open half of the statistics */
};

#define EKG_CAREFUL_ 1u     /* the counter is not the clock, or begins and ends must be ordered by a fence */

extern struct ekg_shared_ ekg_shared_;
extern __thread struct ekg_slot_ *ekg_slots_ __attribute__((tls_model("initial-exec")));

void ekg_begin_carefully_(struct ekg_slot_ *slot);
void ekg_end_timed_(struct ekg_slot_ *slot);
void ekg_pulse_counted_(struct ekg_slot_ *slot);
void ekg_begin_slow_(uint32_t id);
void ekg_end_slow_(uint32_t id);
void ekg_pulse_slow_(uint32_t id);

/* Return the key of an id. No slot has a key made with on == 0, not even a zeroed one: while recording is off, no slot
 * matches. */
static __inline__ uint64_t ekg_key_(uint32_t on, uint32_t id)
{
    return ((uint64_t)on << 32) + id + 1;
}

static __inline__ struct ekg_slot_ *ekg_find_(uint32_t on, uint32_t id)
{
    struct ekg_slot_ *slot = ekg_slots_;
    if (slot == NULL)
        return NULL;
    slot += id % EKG_SLOTS_;
    return __atomic_load_n(&slot->key, __ATOMIC_RELAXED) == ekg_key_(on, id) ? slot : NULL;
}

/* Read the processor's counter. */
static __inline__ uint64_t ekg_counter_(void)
{
#if defined(EKG_FAKE_CLOCK) /* tests of the library set the time */
    extern uint64_t ekg_fake_ns;
    return __atomic_load_n(&ekg_fake_ns, __ATOMIC_RELAXED);
#elif defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0; /* never used: careful mode has another clock */
#endif
}

/* Only the owner writes `skipping`. ThreadSanitizer sees only this header of the library, and cannot detect that owners
 * succeed each other; atomic accesses avoid false reports. */
static __inline__ uint64_t ekg_skipping_(const struct ekg_slot_ *slot)
{
#ifdef EKG_WATCHED_
    return __atomic_load_n(&slot->skipping, __ATOMIC_RELAXED);
#else
    return slot->skipping;
#endif
}

/* Set `skipping`, which other threads read. */
static __inline__ void ekg_skip_(struct ekg_slot_ *slot, uint64_t skipping)
{
    __atomic_store_n(&slot->skipping, skipping, __ATOMIC_RELAXED);
}

/* Begin a beat. It is skipped together with all beats nested in it. */
static __inline__ void ekg_begin_found_(struct ekg_slot_ *slot)
{
    const uint64_t skipping = ekg_skipping_(slot);
    if (skipping != 0) {
        ekg_skip_(slot, skipping + EKG_SKIPPED_ - (skipping < EKG_SKIPPED_));
    } else if (__builtin_expect((__atomic_load_n(&ekg_shared_.mode, __ATOMIC_RELAXED) & EKG_CAREFUL_) == 0 &&
                                    __atomic_load_n(&slot->depth, __ATOMIC_RELAXED) == 0,
                                1)) {
        __atomic_store_n(&slot->start, ekg_counter_(), __ATOMIC_RELAXED);
        __atomic_store_n(&slot->depth, 1, __ATOMIC_RELEASE);
    } else {
        ekg_begin_carefully_(slot);
    }
}

static __inline__ void ekg_end_found_(struct ekg_slot_ *slot)
{
    const uint64_t skipping = ekg_skipping_(slot);
    if (skipping < EKG_SKIPPED_)
        ekg_end_timed_(slot);
    else
        ekg_skip_(slot, skipping - EKG_SKIPPED_);
}

/* Record a pulse. An outermost pulse is counted for the rate factor like a beat; within a beat it is skipped with the
 * beat. */
static __inline__ void ekg_pulse_found_(struct ekg_slot_ *slot)
{
    const uint64_t skipping = ekg_skipping_(slot);
    if (skipping == 0)
        ekg_pulse_counted_(slot);
    else if (skipping < EKG_SKIPPED_)
        ekg_skip_(slot, skipping - 1);
}

static __inline__ void ekg_begin_inline_(uint32_t id)
{
    const uint32_t on = __atomic_load_n(&ekg_shared_.on, __ATOMIC_RELAXED);
    struct ekg_slot_ *slot = ekg_find_(on, id);
    if (__builtin_expect(slot != NULL, 1))
        ekg_begin_found_(slot);
    else if (on != 0)
        ekg_begin_slow_(id);
}

static __inline__ void ekg_end_inline_(uint32_t id)
{
    const uint32_t on = __atomic_load_n(&ekg_shared_.on, __ATOMIC_RELAXED);
    struct ekg_slot_ *slot = ekg_find_(on, id);
    if (__builtin_expect(slot != NULL, 1))
        ekg_end_found_(slot);
    else if (on != 0)
        ekg_end_slow_(id);
}

static __inline__ void ekg_pulse_inline_(uint32_t id)
{
    const uint32_t on = __atomic_load_n(&ekg_shared_.on, __ATOMIC_RELAXED);
    struct ekg_slot_ *slot = ekg_find_(on, id);
    if (__builtin_expect(slot != NULL, 1))
        ekg_pulse_found_(slot);
    else if (on != 0)
        ekg_pulse_slow_(id);
}

/* --------------------------------------------------------------------------------------------------------------- */

/* Begin, or end, a beat of `id`. Beats of one id nest; an end closes the innermost open one. An end in a thread without
 * an open one closes the oldest open beat of the id in another thread. Async-signal-safe after the thread's first beat;
 * a beat in a handler that interrupts the begin or end of a beat of the same id may be dropped, and is counted. */
#ifdef EKG_BUILD_
void ekg_begin(uint32_t id);
void ekg_end(uint32_t id);
/* Record a beat without a duration: a sign of life. */
void ekg_pulse(uint32_t id);
#else
static __inline__ void ekg_begin(uint32_t id)
{
    ekg_begin_inline_(id);
}

static __inline__ void ekg_end(uint32_t id)
{
    ekg_end_inline_(id);
}

/* Record a beat without a duration: a sign of life. */
static __inline__ void ekg_pulse(uint32_t id)
{
    ekg_pulse_inline_(id);
}
#endif
#pragma GCC visibility pop

static __inline__ uint32_t ekg_scope_begin_(uint32_t id)
{
    ekg_begin_inline_(id);
    return id;
}

static __inline__ void ekg_scope_end_(const uint32_t *id)
{
    ekg_end_inline_(*id);
}

#ifdef __cplusplus
}

namespace appekg
{

/* A beat for the lifetime of the object. */
class Scope
{
  public:
    explicit Scope(uint32_t id) : id_(ekg_scope_begin_(id)) {}
    ~Scope()
    {
        ekg_end_inline_(id_);
    }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    const uint32_t id_;
};

} /* namespace appekg */
#endif

/* EKG_SCOPE(id); is a beat from here to the end of the block, however the block is left. */
#define EKG_JOIN2_(a, b) a##b
#define EKG_JOIN_(a, b) EKG_JOIN2_(a, b)
#ifdef __cplusplus
#define EKG_SCOPE(id) const ::appekg::Scope EKG_JOIN_(ekg_scope_, __LINE__)(id)
#else
#define EKG_SCOPE(id)                                                                                                  \
    __attribute__((cleanup(ekg_scope_end_), unused)) const uint32_t EKG_JOIN_(ekg_scope_, __LINE__) =                  \
        ekg_scope_begin_(id)
#endif

#endif /* EKG_OFF */
#endif
