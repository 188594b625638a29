// Times a loop that allocates and frees: allocations HOW TIMES WORK. HOW: malloc, calloc, realloc, new. WORK: how many
// additions each iteration makes besides. Prints the nanoseconds of CPU time that an iteration takes.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

static void *volatile kept[4096];
static volatile unsigned sink;

static double cpu_ns()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

static void compute(unsigned turns)
{
    for (unsigned i = 0; i < turns; i++)
        sink = sink + i;
}

template <class Allocate, class Free>
static double iteration(long times, unsigned work, Allocate allocate, Free release)
{
    double begin = cpu_ns();
    for (long i = 0; i < times; i++) {
        unsigned long at = static_cast<unsigned long>(i) * 7919 % 4096;
        release(kept[at]);
        kept[at] = allocate(16 + at % 64);
        compute(work);
    }
    return (cpu_ns() - begin) / static_cast<double>(times);
}

int main(int, char **words)
{
    const char *how = words[1];
    long times = std::atol(words[2]);
    unsigned work = static_cast<unsigned>(std::atol(words[3]));
    double took = 0;
    if (std::strcmp(how, "malloc") == 0)
        took = iteration(times, work, std::malloc, std::free);
    else if (std::strcmp(how, "calloc") == 0)
        took = iteration(times, work, [](std::size_t bytes) { return std::calloc(1, bytes); }, std::free);
    else if (std::strcmp(how, "realloc") == 0)
        took = iteration(times, work, [](std::size_t bytes) { return std::realloc(nullptr, bytes); }, std::free);
    else
        took = iteration(
            times, work, [](std::size_t bytes) { return ::operator new(bytes); },
            [](void *block) { ::operator delete(block); });
    std::printf("%.3f\n", took);
    return 0;
}
