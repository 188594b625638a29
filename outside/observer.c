#define _GNU_SOURCE
#include "watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* It answers as soon as it gets a processor; a stopped one does not. */
#define LONGEST_ANSWER_MS 1000

/* Answer until the other end is closed, at the latest by the end of that process. */
static _Noreturn void answer(int socket)
{
    const struct timespec at_once = {0, 0};
    sigset_t all;
    char question;
    sigfillset(&all);
    while (read(socket, &question, 1) == 1) {
        uint64_t observed = 0;
        for (int number; (number = sigtimedwait(&all, NULL, &at_once)) > 0;)
            observed |= OBSERVED(number);
        if (write(socket, &observed, sizeof observed) != sizeof observed)
            break;
    }
    _exit(0);
}

void observer_start(struct observer *observer)
{
    int ends[2];
    *observer = (struct observer){.pid = 0};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        answer(ends[1]);
    }
    close(ends[1]);
    if (pid > 0)
        *observer = (struct observer){pid, ends[0]};
    else
        close(ends[0]);
}

uint64_t observer_query(struct observer *observer)
{
    uint64_t observed = 0;
    struct pollfd file = {.fd = observer->socket, .events = POLLIN};
    if (observer->pid == 0)
        return 0;
    if (send(observer->socket, "", 1, MSG_NOSIGNAL) == 1 && poll(&file, 1, LONGEST_ANSWER_MS) == 1 &&
        read(observer->socket, &observed, sizeof observed) == sizeof observed)
        return observed;
    observer_end(observer);
    return 0;
}

void observer_end(struct observer *observer)
{
    if (observer->pid == 0)
        return;
    close(observer->socket);
    kill(observer->pid, SIGKILL);
    waitpid(observer->pid, NULL, 0);
    *observer = (struct observer){.pid = 0};
}
