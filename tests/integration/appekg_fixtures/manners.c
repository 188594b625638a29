/* Calls every function and prints what has changed in the process, or nothing. Ends with
 * status 7 after "done" on stdout. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "appekg.h"

struct state {
    int error, free_fd;
    sigset_t mask;
};

static struct state look(void)
{
    struct state state = {.error = errno};
    pthread_sigmask(SIG_SETMASK, NULL, &state.mask);
    state.free_fd = open("/dev/null", O_RDONLY);
    close(state.free_fd);
    errno = state.error;
    return state;
}

static void compare(const char *what, const struct state *before)
{
    struct state now = look();
    if (now.error != before->error)
        printf("%s: errno %d\n", what, now.error);
    if (now.free_fd != before->free_fd)
        printf("%s: descriptor %d is free, not %d\n", what, now.free_fd, before->free_fd);
    if (memcmp(&now.mask, &before->mask, sizeof now.mask) != 0)
        printf("%s: another signal mask\n", what);
}

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        errno = 4711;                                                                                                  \
        struct state before = look();                                                                                  \
        call;                                                                                                          \
        compare(#call, &before);                                                                                       \
    } while (0)

static void *in_a_thread(void *unused)
{
    CHECK(ekg_begin(1));
    CHECK(ekg_end(1));
    CHECK(ekg_end(1)); /* never begun */
    CHECK(ekg_pulse(1 + EKG_SLOTS_));
    return unused;
}

static void all_calls(void)
{
    pthread_t thread;
    CHECK(ekg_name(1, "name"));
    CHECK(ekg_rate(1, 1));
    CHECK(ekg_begin(1));
    CHECK(ekg_begin(1));
    CHECK(ekg_end(1));
    CHECK(ekg_pulse(2));
    CHECK(ekg_init(NULL));
    CHECK(pthread_create(&thread, NULL, in_a_thread, NULL); pthread_join(thread, NULL); errno = 4711);
    CHECK(ekg_end(1));
    CHECK(ekg_disable());
    CHECK(ekg_begin(1));
    CHECK(ekg_enable());
    CHECK(ekg_begin(1));
    CHECK((void)ekg_is_enabled());
}

int main(void)
{
    int status;
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    sigaddset(&some, SIGALRM);
    pthread_sigmask(SIG_SETMASK, &some, NULL);
    all_calls();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        all_calls();
        return 7;
    }
    waitpid(child, &status, 0);
    all_calls();
    CHECK(ekg_finalize());
    CHECK(ekg_finalize());
    CHECK(ekg_begin(1));
    puts("done");
    return 7;
}
