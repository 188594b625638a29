/* The inboxes of the OpenCL layer by themselves: threads whose signal handlers put commands too, one that a handler has
 * interrupted for good, one after the other, and commands that are refused. */
#include "inboxes.c"

#include <assert.h>
#include <pthread.h>
#include <signal.h>

#define THREADS 4u
#define PUTS 20000u
#define HANDLER THREADS /* stream of the handlers' commands */

static uint32_t next_of[THREADS + 1], handlers_put, handlers_without;
static uint32_t left_to_take;

static bool take(const struct command *command)
{
    if (left_to_take-- == 0)
        return false;
    if (command->work.stream != HANDLER)
        assert(command->work.correlation == next_of[command->work.stream]);
    next_of[command->work.stream]++;
    return true;
}

static void take_some(uint32_t most)
{
    uint64_t mask = gpu_lock();
    left_to_take = most;
    inboxes_take(take);
    gpu_unlock(mask);
}

static void on_signal(int number)
{
    (void)number;
    const struct command command = {.work.stream = HANDLER};
    __atomic_fetch_add(inboxes_put(&command) != 0 ? &handlers_put : &handlers_without, 1, __ATOMIC_RELAXED);
}

static void *put_all(void *stream)
{
    for (uint32_t i = 0; i < PUTS; i++) {
        const struct command command = {.work = {.stream = (uint32_t)(uintptr_t)stream, .correlation = i}};
        while (inboxes_put(&command) == 0)
            take_some(UINT32_MAX);
    }
    return NULL;
}

static pthread_t threads[THREADS];
static bool is_over;

static void *disturb(void *given)
{
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
        for (unsigned i = 0; i < THREADS; i++)
            pthread_kill(threads[i], SIGUSR1);
    return given;
}

static void threads_lose_nothing(void)
{
    pthread_t other;
    signal(SIGUSR1, on_signal);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, put_all, (void *)i) == 0);
    assert(pthread_create(&other, NULL, disturb, NULL) == 0);
    /* Threads are joined after the last signal to them. */
    while (__atomic_load_n(&next_of[0], __ATOMIC_RELAXED) < PUTS / 2)
        take_some(UINT32_MAX);
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    pthread_join(other, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    take_some(UINT32_MAX);
    for (unsigned i = 0; i < THREADS; i++)
        assert(next_of[i] == PUTS);
    assert(next_of[HANDLER] == handlers_put);
}

static void *put_one(void *given)
{
    const struct command command = {.work.correlation = next_of[0]};
    assert(inboxes_put(&command) > 0);
    return given;
}

static void many_threads_share_inboxes(void)
{
    for (int i = 0; i < 300; i++) {
        pthread_t one;
        assert(pthread_create(&one, NULL, put_one, NULL) == 0);
        pthread_join(one, NULL);
        take_some(UINT32_MAX);
    }
    assert(used > INBOXES);
}

static void a_refused_command_stays_and_comes_first(void)
{
    uint32_t first = next_of[0];
    for (uint32_t i = 0; i < 3; i++) {
        const struct command command = {.work.correlation = first + i};
        assert(inboxes_put(&command) == i + 1);
    }
    take_some(1);
    assert(next_of[0] == first + 1);
    take_some(UINT32_MAX);
    assert(next_of[0] == first + 3);
}

static void a_full_or_interrupted_inbox_takes_nothing(void)
{
    for (uint32_t i = 0; i < INBOX_COMMANDS; i++) {
        const struct command command = {.work.stream = HANDLER};
        assert(inboxes_put(&command) == i + 1);
    }
    assert(inboxes_put(&(struct command){.work.stream = HANDLER}) == 0);
    take_some(UINT32_MAX);
    /* A handler has interrupted this thread while it put a command in, and never returns. */
    inboxes[own % INBOXES].is_busy = true;
    assert(inboxes_put(&(struct command){.work.stream = HANDLER}) == 1);
    inboxes[own % INBOXES].is_busy = false;
    take_some(UINT32_MAX);
}

int main(void)
{
    threads_lose_nothing();
    many_threads_share_inboxes();
    a_refused_command_stays_and_comes_first();
    a_full_or_interrupted_inbox_takes_nothing();
    return 0;
}
