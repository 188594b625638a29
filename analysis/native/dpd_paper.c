/* The paper's two functions, over a detector of the calling thread. */
#include "dpd_internal.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

static _Thread_local struct dpd *mine;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool keyed;

_Static_assert(sizeof(long) <= sizeof(int64_t) && INT_MAX == INT32_MAX, "samples and periods fit");

static void release(void *dpd)
{
    dpd_destroy(dpd);
    mine = NULL;
}

static void make_key(void)
{
    keyed = pthread_key_create(&key, release) == 0;
}

/* Return the thread's detector, with room for the window; it is replaced by a larger one if necessary. */
static struct dpd *detector(int32_t window)
{
    if (mine && window <= mine->options.capacity)
        return mine;
    struct dpd_options options;
    memset(&options, 0, sizeof options);
    options.window = mine ? mine->window : window;
    options.capacity = window;
    pthread_once(&once, make_key);
    struct dpd *larger = keyed ? dpd_create(&options) : NULL;
    if (!larger)
        return NULL;
    if (pthread_setspecific(key, larger) != 0) {
        dpd_destroy(larger);
        return NULL;
    }
    if (mine)
        dpd_copy(larger, mine);
    dpd_destroy(mine);
    return mine = larger;
}

int DPD(long sample, int *period)
{
    struct dpd *dpd = mine ? mine : detector(100);
    *period = 0;
    return dpd ? dpd_event(dpd, sample, period) : 0;
}

void DPDWindowSize(int size)
{
    struct dpd *dpd = size >= 2 && size <= DPD_MAX_WINDOW ? detector(size) : NULL;
    if (dpd)
        dpd_resize(dpd, size);
}
