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

#define LOADED 50

static bool copy_file(const char *from, const char *to)
{
    char bytes[1 << 14];
    ssize_t got = -1, put = 0;
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0777);
    while (in >= 0 && out >= 0 && put >= 0 && (got = read(in, bytes, sizeof bytes)) > 0)
        put = write(out, bytes, (size_t)got);
    close(in);
    close(out);
    return got == 0 && put >= 0;
}

/* So many plug-ins, each a file of its own; LOADED of them at a time. */
static void act_plugins(long number)
{
    static void *loaded[LOADED];
    char from[4200], path[64];
    long sum = 0, made = 0;
    snprintf(from, sizeof from, "%s-plugin.so", own_path());
    for (; made < number; made++) {
        void **place = &loaded[made % LOADED];
        if (*place != NULL)
            dlclose(*place);
        snprintf(path, sizeof path, "./plug-%ld-%d.so", made, getpid());
        *place = copy_file(from, path) ? dlopen(path, RTLD_NOW) : NULL;
        unlink(path);
        if (*place == NULL)
            break;
        long (*plugin)(long) = (long (*)(long))dlsym(*place, "plugin_work");
        sum += plugin(20);
    }
    for (int i = 0; i < LOADED; i++) {
        if (loaded[i] != NULL)
            dlclose(loaded[i]);
        loaded[i] = NULL;
    }
    say("plugins", made);
    say("sum", sum);
}

/* A function that counts down and returns a number, into memory. */
static void write_code(uint8_t *code, uint32_t number)
{
#if defined(__x86_64__)
    const uint8_t text[] = {0xb9, 0x20, 0x4e, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xb8, 0, 0, 0, 0, 0xc3};
    memcpy(code, text, sizeof text);
    memcpy(code + 10, &number, sizeof number);
#elif defined(__aarch64__)
    const uint32_t text[] = {0x5289c401, 0x71000421, 0x54ffffe1, 0x52800000 | (number & 0xffff) << 5, 0xd65f03c0};
    memcpy(code, text, sizeof text);
#endif
    __builtin___clear_cache((char *)code, (char *)code + 64);
}

/* Code that is made, called and thrown away. */
static void act_jit(long number)
{
    static void *pages[LOADED];
    long sum = 0;
    for (long i = 0; i < number; i++) {
        void **page = &pages[i % LOADED];
        if (*page != NULL)
            munmap(*page, 4096);
        *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (*page == MAP_FAILED) {
            *page = NULL;
            break;
        }
        write_code(*page, (uint32_t)i);
        if (mprotect(*page, 4096, PROT_READ | PROT_EXEC) == 0)
            sum += ((int (*)(void))*page)();
        work(5);
    }
    for (int i = 0; i < LOADED; i++) {
        if (pages[i] != NULL)
            munmap(pages[i], 4096);
        pages[i] = NULL;
    }
    say("jit", sum);
}

const struct action work_actions[] = {
    {"work", act_work},       {"burn", act_burn},   {"float", act_float}, {"sleep", act_sleep},
    {"poll", act_poll},       {"alloc", act_alloc}, {"map", act_map},     {"dlopen", act_dlopen},
    {"plugins", act_plugins}, {"jit", act_jit},     {NULL, NULL}};
