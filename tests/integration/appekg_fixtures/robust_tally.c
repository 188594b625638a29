/* Beats of all kinds in many threads, also counted by the program: the library's counts must be the same.
 *
 *     robust_tally MILLISECONDS WORKERS [barrier=always|never|early] [FILE INTERVALS]
 *
 * Goes on for that long, until there are some ten thousands of beats, and until there are so many intervals in a file.
 * Workers nest beats, pulse, and leave beats to be ended by others; a signal handler beats in the middle of all that;
 * other threads come and go; names change. `never`: the kernel refuses membarrier from the start, `early`: it does so
 * after a third of the time. Prints `id ended pulses` for each id. */
#define _GNU_SOURCE
#include <appekg.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LEAST_STEPS = 50000 };
enum { IDS = 80, OWN = 16, HANDED = 50, HANDED_IDS = 3, HANDLED = 60, SHORT_LIVED = 70, WORKERS = 128 };

struct tally {
    uint64_t ended[IDS], pulses[IDS];
};

static atomic_bool over;
static atomic_ulong steps;
static atomic_int waiting[HANDED_IDS]; /* beats that any thread may end */
static struct tally tallies[WORKERS + 1];
static pthread_barrier_t ready;
static __thread volatile uint64_t handled;

static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    return *seed ^= *seed << 17;
}

static void on_signal(int number)
{
    (void)number;
    for (int i = 0; i < 3; i++) {
        ekg_begin(HANDLED);
        ekg_begin(i);
        ekg_end(i);
        ekg_end(HANDLED);
    }
    handled++;
}

static void nest(struct tally *tally, uint32_t id, unsigned int depth)
{
    ekg_begin(id);
    if (depth > 0)
        nest(tally, id, depth - 1);
    ekg_end(id);
    tally->ended[id]++;
}

/* Ends a beat that waits for it, wherever it began. */
static void end_one(struct tally *tally, uint32_t kind)
{
    int before = atomic_load(&waiting[kind]);
    while (before > 0)
        if (atomic_compare_exchange_weak(&waiting[kind], &before, before - 1)) {
            ekg_end(HANDED + kind);
            tally->ended[HANDED + kind]++;
            return;
        }
}

static void begin_for_others(uint32_t kind)
{
    ekg_begin(HANDED + kind);
    atomic_fetch_add(&waiting[kind], 1);
}

static void step(struct tally *tally, uint64_t *seed)
{
    uint64_t dice = draw(seed) >> 20;
    uint32_t id = dice / 64 % OWN;
    switch (dice % 64) {
    case 0:
        begin_for_others(id % HANDED_IDS);
        break;
    case 1:
    case 2:
        end_one(tally, id % HANDED_IDS);
        break;
    case 3:
        nest(tally, id, 1 + dice / 4096 % 20);
        break;
    case 4:
        ekg_pulse(id);
        tally->pulses[id]++;
        break;
    case 5:
        ekg_name(id, dice & 64 ? "one" : "another");
        break;
    default:
        ekg_begin(id);
        ekg_end(id);
        tally->ended[id]++;
    }
}

static void *work(void *argument)
{
    struct tally *tally = argument;
    uint64_t seed = 88172645463325252u + 7919 * (uint64_t)(tally - tallies);
    ekg_begin(HANDLED); /* a handler's beat is not its thread's first of its id */
    ekg_end(HANDLED);
    tally->ended[HANDLED]++;
    for (int i = 0; i < 3; i++) {
        ekg_begin(i);
        ekg_end(i);
        tally->ended[i]++;
    }
    sigset_t usual;
    sigemptyset(&usual);
    pthread_sigmask(SIG_SETMASK, &usual, NULL);
    pthread_barrier_wait(&ready);
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        for (int i = 0; i < 100; i++)
            step(tally, &seed);
        atomic_fetch_add_explicit(&steps, 100, memory_order_relaxed);
    }
    pthread_barrier_wait(&ready); /* no thread leaves while beats are open */
    for (uint32_t kind = 0; kind < HANDED_IDS; kind++)
        while (atomic_load(&waiting[kind]) > 0)
            end_one(tally, kind);
    pthread_barrier_wait(&ready);
    tally->ended[HANDLED] += 3 * handled;
    for (int i = 0; i < 3; i++)
        tally->ended[i] += handled;
    return NULL;
}

static void *live_shortly(void *argument)
{
    uint64_t *ended = argument;
    for (; *ended < 20; ++*ended) {
        EKG_SCOPE(SHORT_LIVED);
    }
    return NULL;
}

static void refuse_membarrier(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        _exit(77);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* How many intervals there are in the file, of which the last one may not be whole. */
static int count_intervals(const char *path)
{
    char *line = NULL;
    size_t size = 0;
    int count = 0;
    FILE *file = fopen(path, "r");
    while (file != NULL && getline(&line, &size, file) > 0)
        count += strncmp(line, "#interval", 9) == 0;
    free(line);
    if (file != NULL)
        fclose(file);
    return count;
}

/* Until it is enough: threads that come and go, and signals. */
static void disturb(pthread_t *threads, int workers, double span, bool early, const char *file, int intervals)
{
    struct tally *tally = &tallies[WORKERS];
    const double start = seconds();
    bool has_intervals = intervals == 0;
    for (int turn = 0; seconds() - start < span || atomic_load(&steps) < LEAST_STEPS || !has_intervals; turn++) {
        uint64_t ended = 0;
        pthread_t thread;
        if (early && seconds() - start > span / 3) {
            refuse_membarrier();
            early = false;
        }
        if (pthread_create(&thread, NULL, live_shortly, &ended) == 0)
            pthread_join(thread, NULL);
        tally->ended[SHORT_LIVED] += ended;
        pthread_kill(threads[turn % workers], SIGUSR1);
        if (!has_intervals && seconds() - start >= span && turn % 256 == 0)
            has_intervals = count_intervals(file) >= intervals;
    }
    atomic_store(&over, true);
}

int main(int count, char **arguments)
{
    pthread_t threads[WORKERS];
    const double span = atof(arguments[1]) / 1000;
    const int workers = atoi(arguments[2]);
    const char *barrier = count > 3 ? arguments[3] : "always";
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigset_t ours;
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&ours);
    sigaddset(&ours, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &ours, NULL);
    if (strcmp(barrier, "never") == 0)
        refuse_membarrier();
    pthread_barrier_init(&ready, NULL, (unsigned int)workers + 1);
    for (int i = 0; i < workers; i++)
        if (pthread_create(&threads[i], NULL, work, &tallies[i]) != 0)
            return 2;
    pthread_barrier_wait(&ready);
    disturb(threads, workers, span, strcmp(barrier, "early") == 0, count > 5 ? arguments[4] : "",
            count > 5 ? atoi(arguments[5]) : 0);
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&ready);
    for (int i = 0; i < workers; i++)
        pthread_join(threads[i], NULL);
    ekg_finalize();
    for (int id = 0; id < IDS; id++) {
        uint64_t ended = 0, pulses = 0;
        for (int i = 0; i <= WORKERS; i++) {
            ended += tallies[i].ended[id];
            pulses += tallies[i].pulses[id];
        }
        if (ended + pulses > 0)
            printf("%d %llu %llu\n", id, (unsigned long long)ended, (unsigned long long)pulses);
    }
    return 0;
}
