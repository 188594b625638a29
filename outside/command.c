#define _GNU_SOURCE
#include "sensors.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys.h"

#define SECOND_NS 1000000000u
/* A BMC takes a second or two to answer; a command silent for longer than this hangs. */
#define HANGS_NS (30ull * SECOND_NS)
#define OLD_NS (10ull * SECOND_NS)
#define MOST_WATTS 1e7

bool command_parse(const char *line, double *watts)
{
    static const struct {
        const char *name;
        double watts;
    } units[] = {{"", 1}, {"w", 1}, {"watt", 1}, {"watts", 1}, {"mw", 1e-3}, {"kw", 1e3}};
    static const char reading[] = "Instantaneous power reading";
    line += strspn(line, " \t");
    if (strncmp(line, reading, sizeof reading - 1) == 0)
        line += strcspn(line, ":") + (strchr(line, ':') != NULL);
    line += strspn(line, " \t");
    if (!isdigit((unsigned char)*line) && *line != '.')
        return false;
    char *end, word[8] = "";
    double value = strtod(line, &end);
    end += strspn(end, " \t");
    size_t length = strcspn(end, " \t\r.");
    if (length >= sizeof word)
        return false;
    memcpy(word, end, length);
    end += length;
    end += strspn(end, " \t\r.");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (*end == '\0' && strcasecmp(word, units[i].name) == 0 && isfinite(value * units[i].watts)) {
            /* No node takes megawatts, so this is mW in any spelling. */
            *watts = value * units[i].watts;
            return *watts <= MOST_WATTS;
        }
    return false;
}

static _Noreturn void become_shell(const char *line, int out)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        _exit(126);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

static void start(struct command *command)
{
    int ends[2];
    command->started_ns = monotonic_ns();
    command->filled = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    command->pid = fork();
    if (command->pid == 0)
        become_shell(command->line, ends[1]);
    close(ends[1]);
    if (command->pid < 0) {
        command->pid = 0;
        close(ends[0]);
        return;
    }
    setpgid(command->pid, command->pid);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    command->fd = ends[0];
}

/* Return whether it has ended. A process that waits for a device takes a while to end. */
static bool has_exited(struct command *command)
{
    if (command->dying > 0 && waitpid(command->dying, NULL, WNOHANG) != 0)
        command->dying = 0;
    return command->dying == 0;
}

void command_stop(struct command *command)
{
    if (command->pid == 0)
        return;
    kill(-command->pid, SIGKILL);
    close(command->fd);
    command->dying = command->pid;
    command->pid = 0;
    has_exited(command);
}

static void take_line(struct command *command, char *line)
{
    double watts;
    if (command_parse(line, &watts)) {
        command->watts = watts;
        command->has_watts = true;
        command->watts_ns = monotonic_ns();
    } else if (line[strspn(line, " \t\r")] != '\0') {
        snprintf(command->last_text, sizeof command->last_text, "%s", line);
    }
}

/* Take the complete lines; discard one that is too long. */
static void take_text(struct command *command)
{
    char *line = command->text, *end;
    command->text[command->filled] = '\0';
    for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        take_line(command, line);
    }
    command->filled = strlen(line);
    memmove(command->text, line, command->filled + 1);
    if (command->filled == sizeof command->text - 1)
        command->filled = 0;
}

/* Read its output; return whether it has ended. */
static bool take_output(struct command *command)
{
    for (;;) {
        ssize_t got = read(command->fd, command->text + command->filled, sizeof command->text - 1 - command->filled);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno != EAGAIN;
        if (got == 0)
            break;
        /* Remove NUL characters. */
        for (ssize_t i = 0; i < got; i++)
            if (command->text[command->filled + (size_t)i] == '\0')
                command->text[command->filled + (size_t)i] = '?';
        command->filled += (size_t)got;
        take_text(command);
    }
    if (command->filled > 0) {
        command->text[command->filled] = '\0';
        take_line(command, command->text);
        command->filled = 0;
    }
    return true;
}

void command_advance(struct command *command)
{
    uint64_t now = monotonic_ns();
    uint64_t last =
        command->has_watts && command->watts_ns > command->started_ns ? command->watts_ns : command->started_ns;
    if (command->pid > 0 && (take_output(command) || now - last > HANGS_NS))
        command_stop(command);
    else if (command->pid == 0 && has_exited(command) && now - command->started_ns >= SECOND_NS)
        start(command);
}

bool command_wait_for_first(struct command *command, uint64_t most_ns)
{
    uint64_t begun = monotonic_ns();
    start(command);
    while (command->pid > 0 && !command->has_watts && monotonic_ns() - begun < most_ns) {
        struct pollfd file = {.fd = command->fd, .events = POLLIN};
        poll(&file, 1, 50);
        if (take_output(command))
            command_stop(command);
    }
    return command->has_watts;
}

bool command_read(const struct command *command, double *watts)
{
    *watts = command->watts;
    return command->has_watts && monotonic_ns() - command->watts_ns < OLD_NS;
}
