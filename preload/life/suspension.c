/* Thread safety: `asleep_ns` belongs to the lock's holder, all else to the interval thread. */
#define _GNU_SOURCE
#include "collection.h"

#include <string.h>
#include <time.h>

#include "buffer.h"
#include "sys.h"
#include "tasks.h"

/* The interval thread sleeps no longer than this, so shorter suspensions cannot be detected. */
#define LEAST_NS ((uint64_t)100 * 1000000)

static uint64_t waited_ns;
static bool is_noted;
static uint64_t asleep_ns;
static struct buffer text;

/* The value is the second number of the thread's schedstat. */
void suspension_note(void)
{
    const char *digit = task_read("thread-self/schedstat", &text) ? strchr((const char *)text.data, ' ') : NULL;
    is_noted = digit != NULL;
    waited_ns = 0;
    while (is_noted && *++digit >= '0' && *digit <= '9')
        waited_ns = waited_ns * 10 + (uint64_t)(*digit - '0');
}

/* If the thread wakes late without having waited for a processor, it was stopped. */
bool suspension_before(uint64_t due_ns, uint64_t now_ns, uint64_t *until_ns)
{
    if (now_ns < due_ns + LEAST_NS)
        return false;
    uint64_t before_ns = waited_ns;
    bool is_comparable = is_noted;
    suspension_note();
    *until_ns = now_ns - (waited_ns - before_ns);
    return is_comparable && is_noted && *until_ns <= now_ns && *until_ns >= due_ns + LEAST_NS;
}

uint64_t suspension_slept_ns(void)
{
    uint64_t running_ns = monotonic_ns();
    uint64_t before_ns = asleep_ns;
    uint64_t now_ns = sys_clock_ns(CLOCK_BOOTTIME) - running_ns;
    if (before_ns != 0 && now_ns < before_ns + LEAST_NS) /* the clocks are not read at the same moment */
        return 0;
    asleep_ns = now_ns;
    return before_ns != 0 ? now_ns - before_ns : 0;
}
