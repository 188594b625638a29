/* Work: calls, floating point, sleep, memory, libraries. */
#include "host.h"

#include <dlfcn.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/select.h>

#define BATCH 200

__attribute__((noinline)) unsigned tick(unsigned x)
{
    ledger_tick();
    return x * 1664525u + 1013904223u;
}

unsigned work(long count)
{
    unsigned x = 1;
    for (long i = 0; i < count; i++) {
        ekg_begin(1);
        x = tick(x);
        ekg_end(1);
        ledger_beat();
    }
    return x;
}

static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

void burn(long milliseconds)
{
    int64_t end = cpu_ns() + milliseconds * 1000000ll;
    while (cpu_ns() < end)
        work(BATCH);
}

static void act_work(long number)
{
    say("work", work(number));
}

static void act_burn(long number)
{
    errno = 77;
    burn(number);
    say("burn errno", errno);
}

/* Results depend on every bit of the floating point state, which a handler must leave alone. */
static void act_float(long number)
{
    double x = 0.5;
    long double y = 0.25L;
    for (long i = 0; i < number * 1000; i++) {
        x = 3.99 * x * (1 - x);
        y = 3.98L * y * (1 - y);
    }
    say("float", (long)(x * 1e15) ^ (long)(y * 1e18L));
}

static void act_sleep(long number)
{
    struct timespec pause = {number / 1000, number % 1000 * 1000000};
    int result = nanosleep(&pause, NULL);
    say("sleep", result < 0 ? errno : 0);
}

static void act_poll(long number)
{
    int result = poll(NULL, 0, (int)number);
    say("poll", result < 0 ? errno : result);
    struct timeval wait = {0, number * 1000};
    result = select(0, NULL, NULL, NULL, &wait);
    say("select", result < 0 ? errno : result);
}

static void act_alloc(long number)
{
    char *memory = malloc((size_t)number << 10);
    if (memory != NULL)
        memset(memory, 1, (size_t)number << 10);
    say("alloc", memory != NULL);
    free(memory);
}

/* Mappings come and go where code and stacks might have been. */
static void act_map(long number)
{
    long sum = 0;
    for (long i = 0; i < number; i++) {
        char *page = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            continue;
        page[i % 4096] = 1;
        sum += page[i % 4096];
        work(10);
        munmap(page, 1 << 16);
    }
    say("map", sum);
}

/* The plug-in is built with -pg as well, and lies beside the program. */
static void act_dlopen(long number)
{
    char path[4200];
    long sum = 0;
    snprintf(path, sizeof path, "%s-plugin.so", own_path());
    for (long i = 0; i < number; i++) {
        void *library = dlopen(path, RTLD_NOW);
        long (*plugin)(long) = library != NULL ? (long (*)(long))dlsym(library, "plugin_work") : NULL;
        sum += plugin != NULL ? plugin(2000) : -1;
        if (library != NULL)
            dlclose(library);
    }
    say("dlopen", sum);
}

const struct action work_actions[] = {{"work", act_work},   {"burn", act_burn},     {"float", act_float},
                                      {"sleep", act_sleep}, {"poll", act_poll},     {"alloc", act_alloc},
                                      {"map", act_map},     {"dlopen", act_dlopen}, {NULL, NULL}};
