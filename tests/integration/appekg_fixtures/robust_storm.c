/* Everything at once that a program may do to heartbeats, for sanitizers to watch.
 *
 *     robust_storm MILLISECONDS WORKERS [fork]
 *
 * Beats that nest deeply, end without a begin, begin without an end, end elsewhere; ids that share a place; switching,
 * rates and names from several threads; threads that come and go; forked children that beat and exit. Goes on for that
 * long, and until there is something to be recorded: on a busy machine no thread need have had a turn by then. Prints
 * how many beats began and how many pulses there were in the process: the library may have recorded fewer. */
#define _GNU_SOURCE
#include <appekg.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Of the children, four leave something in any case. */
enum { PLACES = 8192, MOST_WORKERS = 64, LEAST_BEATS = 20000, LEAST_PULSES = 200, LEAST_CHILDREN = 6 };

static atomic_int over;
static atomic_ullong began, pulses;

static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    return *seed ^= *seed << 17;
}

/* A few ids, and for each of them others in the same place of the table. */
static uint32_t some_id(uint64_t *seed)
{
    uint64_t dice = draw(seed) >> 24;
    return (uint32_t)(dice % 7 + (dice / 7 % 8 == 0 ? PLACES * (1 + dice / 56 % 3) : 0));
}

static void nest(uint32_t id, int depth)
{
    EKG_SCOPE(id);
    atomic_fetch_add(&began, 1);
    if (depth > 0)
        nest(id, depth - 1);
}

static void change_something(uint64_t *seed)
{
    static const char *const names[] = {"assemble", "", "\xc3\x28 \"quoted\" \\ \x01", "solve:body", NULL};
    uint64_t dice = draw(seed) >> 24;
    switch (dice % 4) {
    case 0:
        ekg_name(some_id(seed), names[dice / 4 % 5]);
        break;
    case 1:
        ekg_rate(some_id(seed), (uint32_t)(dice / 4 % 4));
        break;
    case 2:
        ekg_disable();
        break;
    default:
        ekg_enable();
    }
}

static void step(uint64_t *seed)
{
    uint64_t dice = draw(seed) >> 24;
    uint32_t id = some_id(seed);
    switch (dice % 100) {
    case 0:
        nest(id, (int)(dice / 100 % 30));
        break;
    case 1:
        ekg_begin(id); /* for any thread */
        atomic_fetch_add(&began, 1);
        break;
    case 2:
    case 3:
        ekg_end(id);
        break;
    case 4:
        ekg_pulse(id);
        atomic_fetch_add(&pulses, 1);
        break;
    case 5:
        if (dice / 100 % 20 == 0)
            change_something(seed);
        break;
    default:
        nest(id, 0);
    }
}

static void *work(void *argument)
{
    uint64_t seed = 88172645463325252u + 7919 * (uint64_t)(uintptr_t)argument;
    while (!atomic_load_explicit(&over, memory_order_relaxed))
        step(&seed);
    return NULL;
}

static void *live_shortly(void *argument)
{
    uint64_t seed = (uintptr_t)argument + 1;
    for (int i = 0; i < 30; i++)
        step(&seed);
    return NULL;
}

/* A child beats in its only thread, and in another one where there can be one; then it ends in one of three ways. */
static void have_a_child(uint64_t number)
{
    pid_t child = fork();
    if (child != 0) {
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            fprintf(stderr, "child %llu: %#x\n", (unsigned long long)number, (unsigned int)status);
            exit(3);
        }
        return;
    }
    alarm(200); /* a child that hangs is a failure, and ends */
    ekg_enable();
    live_shortly((void *)(uintptr_t)number);
    if (number % 3 == 0)
        _exit(0);
    if (number % 3 == 1)
        ekg_finalize();
    exit(0);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int is_enough(double end)
{
    return seconds() >= end && atomic_load(&began) >= LEAST_BEATS && atomic_load(&pulses) >= LEAST_PULSES;
}

int main(int count, char **arguments)
{
    pthread_t threads[MOST_WORKERS], passing;
    const double end = seconds() + atof(arguments[1]) / 1000;
    const int workers = atoi(arguments[2]);
    const int forks = count > 3 && strcmp(arguments[3], "fork") == 0;
    for (int i = 0; i < workers; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) != 0)
            return 2;
    for (uint64_t turn = 0; !is_enough(end) || (forks && turn < LEAST_CHILDREN); turn++) {
        if (pthread_create(&passing, NULL, live_shortly, (void *)(uintptr_t)turn) == 0)
            pthread_join(passing, NULL);
        if (forks)
            have_a_child(turn);
    }
    atomic_store(&over, 1);
    for (int i = 0; i < workers; i++)
        pthread_join(threads[i], NULL);
    printf("began %llu\npulses %llu\n", (unsigned long long)began, (unsigned long long)pulses);
    return 0;
}
