/* Does what the lines on stdin say, one after the other, with as many threads as they name. Thread 0 is the main one,
 * the others are made when they are first named, and again after they have left. Time is the library's fake clock.
 *
 *   begin T ID [TIMES]    end T ID [TIMES]    pulse T ID [TIMES]    leave T
 *   advance NS    back NS    interval    rate ID FACTOR    name ID HEX    disable    enable    init    finalize
 *   cost PAIR SKIPPED     what a beat costs, in ps; before the first one
 *   beat T ID NS TIMES    begins and ends with so much time between, each
 *   control TEXT          content of the control file in $EKG_DIR
 *   fork                  the child does the lines up to `joined`, then exits; its parent waits, and goes on after them
 *   leap                  _exit
 *
 * What the calls return is printed: "init 0", "enabled 1" after each switch. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "appekg.h"

#define MOST_THREADS 64

extern uint64_t ekg_fake_ns, ekg_fake_pair_ps, ekg_fake_skipped_ps;
void ekg_fake_interval(void);

struct job {
    void (*edge)(uint32_t);
    uint32_t id, times;
};

static struct actor {
    pthread_t thread;
    sem_t wanted, done;
    struct job job; /* without an edge: leave */
    int is_there;
} actors[MOST_THREADS];

static void do_job(const struct job *job)
{
    for (uint32_t i = 0; i < job->times; i++)
        job->edge(job->id);
}

static void *act(void *argument)
{
    struct actor *actor = argument;
    for (;;) {
        sem_wait(&actor->wanted);
        if (actor->job.edge == NULL)
            return NULL;
        do_job(&actor->job);
        sem_post(&actor->done);
    }
}

static void hand_over(unsigned int number, struct job job)
{
    struct actor *actor = &actors[number];
    if (number == 0) {
        do_job(&job);
        return;
    }
    if (!actor->is_there) {
        sem_init(&actor->wanted, 0, 0);
        sem_init(&actor->done, 0, 0);
        actor->is_there = pthread_create(&actor->thread, NULL, act, actor) == 0;
        if (!actor->is_there)
            abort();
    }
    actor->job = job;
    sem_post(&actor->wanted);
    sem_wait(&actor->done);
}

static void leave(unsigned int number)
{
    struct actor *actor = &actors[number];
    if (!actor->is_there)
        return;
    actor->job.edge = NULL;
    sem_post(&actor->wanted);
    pthread_join(actor->thread, NULL);
    actor->is_there = 0;
}

static void write_control(const char *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/control", getenv("EKG_DIR"));
    FILE *file = fopen(path, "w");
    if (file == NULL || fprintf(file, "%s\n", text) < 0 || fclose(file) != 0)
        abort();
}

static void name(uint32_t id, const char *hex)
{
    char text[512] = "";
    for (size_t i = 0; hex[2 * i] != '\0' && i < sizeof text - 1; i++)
        sscanf(hex + 2 * i, "%2hhx", (unsigned char *)&text[i]);
    ekg_name(id, text);
}

static char script[1 << 20], *rest = script;

/* The next line, cut out of the script; NULL at its end. */
static char *next_line(void)
{
    char *line = strsep(&rest, "\n");
    return line != NULL && (*line != '\0' || rest != NULL) ? line : NULL;
}

/* In the parent, when the child has done the lines up to `joined`. */
static void skip_childs_lines(void)
{
    char *line;
    for (int depth = 1; depth > 0 && (line = next_line()) != NULL;)
        depth += strcmp(line, "fork") == 0 ? 1 : strcmp(line, "joined") == 0 ? -1 : 0;
}

static void fork_here(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        memset(actors, 0, sizeof actors);
        return;
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        abort();
    skip_childs_lines();
}

static void say_enabled(void)
{
    printf("enabled %d\n", ekg_is_enabled());
}

/* A line that a thread does. 0 when it is none. */
static int do_edge(const char *line)
{
    char word[32];
    unsigned int thread;
    struct job job = {.times = 1};
    if (sscanf(line, "%31s %u %u %u", word, &thread, &job.id, &job.times) < 3 || thread >= MOST_THREADS)
        return 0;
    job.edge = strcmp(word, "begin") == 0   ? ekg_begin
               : strcmp(word, "end") == 0   ? ekg_end
               : strcmp(word, "pulse") == 0 ? ekg_pulse
                                            : NULL;
    if (job.edge != NULL)
        hand_over(thread, job);
    return job.edge != NULL;
}

static int do_setting(const char *line)
{
    unsigned long long number = 0;
    unsigned int id, factor, times;
    char text[1024] = "";
    if (sscanf(line, "advance %llu", &number) == 1)
        ekg_fake_ns += number;
    else if (sscanf(line, "back %llu", &number) == 1)
        ekg_fake_ns -= number;
    else if (sscanf(line, "leave %llu", &number) == 1)
        leave((unsigned int)number);
    else if (sscanf(line, "rate %u %u", &id, &factor) == 2)
        ekg_rate(id, factor);
    else if (sscanf(line, "name %u %1023s", &id, text) >= 1)
        name(id, text);
    else if (sscanf(line, "cost %" SCNu64 " %" SCNu64, &ekg_fake_pair_ps, &ekg_fake_skipped_ps) == 2)
        return 1;
    else if (sscanf(line, "beat %u %u %llu %u", &factor, &id, &number, &times) == 4)
        for (; times > 0; times--) {
            hand_over(factor, (struct job){ekg_begin, id, 1});
            ekg_fake_ns += number;
            hand_over(factor, (struct job){ekg_end, id, 1});
        }
    else if (sscanf(line, "control %1023s", text) == 1)
        write_control(text);
    else
        return 0;
    return 1;
}

static void do_word(const char *line)
{
    if (strcmp(line, "interval") == 0) {
        ekg_fake_interval();
    } else if (strcmp(line, "disable") == 0) {
        ekg_disable();
        say_enabled();
    } else if (strcmp(line, "enable") == 0) {
        ekg_enable();
        say_enabled();
    } else if (strcmp(line, "init") == 0) {
        printf("init %d\n", ekg_init(NULL));
    } else if (strcmp(line, "finalize") == 0) {
        ekg_finalize();
        say_enabled();
    } else if (strcmp(line, "fork") == 0) {
        fork_here();
    } else if (strcmp(line, "joined") == 0) {
        exit(0);
    } else if (strcmp(line, "leap") == 0) {
        _exit(0);
    } else if (*line != '\0') {
        fprintf(stderr, "no such line: %s\n", line);
        exit(2);
    }
}

int main(void)
{
    const char *line;
    if (fread(script, 1, sizeof script - 1, stdin) == sizeof script - 1)
        abort();
    ekg_fake_ns = 1000;
    while ((line = next_line()) != NULL)
        if (!do_edge(line) && !do_setting(line))
            do_word(line);
    return 0;
}
