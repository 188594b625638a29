/* Threads and forked children of a program that a sanitizer may watch, with heartbeats; compiles as C and as C++. Ends
 * with status 5. */
#include "host.h"

#include <appekg.h>
#include <sys/wait.h>

enum { STEPS = 500, PASSING = 6 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;
static int left;

__attribute__((noinline)) void step(void)
{
    pthread_mutex_lock(&lock);
    total++;
    pthread_mutex_unlock(&lock);
}

static void *run(void *unused)
{
    for (int i = 0; i < STEPS; i++) {
        ekg_begin(1);
        step();
        ekg_end(1);
    }
    return unused;
}

/* Beats after earlier beats of other threads have ended, with what they have left. */
static void *pass(void *number)
{
    usleep((useconds_t)(40000 * (long)number));
    for (int i = 0; i < STEPS; i++) {
        ekg_begin(2);
        ekg_end(2);
    }
    __atomic_fetch_sub(&left, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void with_a_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        exit(1);
    run(NULL);
    pthread_join(thread, NULL);
}

static int child(void)
{
    pid_t pid = fork();
    int status = 0;
    if (pid == 0) {
        with_a_thread();
        exit(4);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        exit(2);
    return WEXITSTATUS(status);
}

int main(void)
{
    ekg_rate(2, 3);
    run(NULL);
    printf("child %d\n", child());
    left = PASSING;
    for (long i = 0; i < PASSING; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, pass, (void *)i) != 0 || pthread_detach(thread) != 0)
            return 3;
    }
    burn(120);
    with_a_thread();
    while (__atomic_load_n(&left, __ATOMIC_RELAXED) > 0)
        usleep(1000);
    printf("total %ld\n", total);
    return 5;
}
