/* What was really done: a file that the campaign has made and looks at afterwards (soak/faults_run.py). */
#include "host.h"

#include <stdatomic.h>
#include <sys/mman.h>

#define SLOTS 4096

struct slot {
    _Atomic int64_t pid, ticks, beats;
    int64_t unused[5];
};

static struct slot nobody;
static struct slot *slots, *own = &nobody;

/* The first slot's pid is the number of slots that are taken. */
void ledger_claim(void)
{
    if (slots == NULL)
        return;
    int64_t number = atomic_fetch_add_explicit(&slots[0].pid, 1, memory_order_relaxed) + 1;
    own = number < SLOTS ? &slots[number] : &nobody;
    own->pid = syscall(SYS_getpid);
}

void ledger_open(void)
{
    const char *path = getenv("SOAK_LEDGER");
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *memory = mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory != MAP_FAILED)
        slots = memory;
    ledger_claim();
}

void ledger_tick(void)
{
    atomic_fetch_add_explicit(&own->ticks, 1, memory_order_relaxed);
}

void ledger_beat(void)
{
    atomic_fetch_add_explicit(&own->beats, 1, memory_order_relaxed);
}

void ledger_forget(void)
{
    atomic_fetch_sub_explicit(&own->ticks, 1, memory_order_relaxed);
}
