/* incprof-sampler's arguments, and the texts of /proc that it and the interval thread read: of programs of any name. */
#define _GNU_SOURCE
#include <getopt.h>

#include "outside/machine_counters.c"

#include "runtime/credentials.c"
#include "sensors.h"
#include "drawn.h"
#include "request.h"
#include "sys.h"

#define MOST_WORDS 16

static void check_machine(const char *proc)
{
    double values[FIELDS] = {0};
    strcpy(text, proc);
    read_network(values);
    read_processors(values);
    read_memory(values);
    read_faults(values);
    read_disks(values);
    read_queue(values);
    DEMAND(values[RUN_QUEUE] <= (double)text_number(text_word(text, 3)));
    for (int field = 0; field < FIELDS; field++)
        DEMAND(values[field] >= 0 && values[field] < 1e30);
}

/* What a command prints as watts, and what a file of /sys holds. */
static void check_sensor(const char *line)
{
    double value = 0;
    if (command_parse(line, &value))
        DEMAND(value >= 0 && value <= 1e7);
    if (sensor_number(line, &value))
        DEMAND(value > -1e24 && value < 1e24);
    struct sensor sensors[2] = {{.form = FORM_POWER}, {.form = FORM_POWER}};
    sensor_name(sensors, 0, line);
    sensor_name(sensors, 1, line);
    DEMAND(strcmp(sensors[0].name, sensors[1].name) != 0);
    DEMAND(strpbrk(sensors[1].name, ",\n\" ") == NULL);
}

static void check_status(const char *status)
{
    uint64_t ids[IDS];
    read_ids(status, "Uid:", ids);
    struct capabilities has = read_capabilities(status);
    DEMAND(!has_more(has, has) && same_users(status, status));
    task_has_ended(status);
    task_is_worker(status);
    DEMAND(task_field(status, "Name:") != NULL);
}

static void check_stat(const char *stat)
{
    const char *word = text_state(stat);
    for (int i = 0; i < 40; i++, word = text_word(word, 1)) {
        text_number(word);
        DEMAND(*word == '\0' || (word >= stat && word < stat + strlen(stat)));
    }
    text_value(stat, "rchar");
}

/* The number of the process is what stands in one of the words. */
static void check_process(pid_t pid, char *const *words)
{
    char number[16];
    bool is_given = false;
    int digits = snprintf(number, sizeof number, "%d", pid);
    for (; *words != NULL; words++) {
        size_t length = strlen(*words);
        is_given |= length >= (size_t)digits && strcmp(*words + length - digits, number) == 0;
    }
    DEMAND(pid > 0 && is_given);
}

static void check_request(struct drawn *drawn)
{
    char *words[MOST_WORDS + 2] = {"incprof-sampler"};
    int count = 1;
    while (count <= MOST_WORDS && drawn->left > 0)
        words[count++] = draw_text(drawn);
    struct request request;
    const struct event *chosen[MOST_COLUMNS];
    size_t columns = 0;
    optind = 0;
    if (request_parse_sampler(&request, count, words)) {
        DEMAND(request.interval_ns >= 100000 && request.interval_ns <= 3600000000000u);
        DEMAND(request.list || request.output != NULL);
        if (request.target.scope == OF_PROCESS)
            check_process(request.target.pid, words);
        const char *bad = events_choose(request.events, chosen, &columns);
        DEMAND(columns <= MOST_COLUMNS && (bad == NULL || strstr(request.events, bad) != NULL));
        for (size_t i = 0; i < columns; i++)
            DEMAND(event_named(chosen[i]->name) == chosen[i] || chosen[i]->name[0] == 'r');
    }
    for (int i = 1; i < count; i++)
        free(words[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct drawn drawn = {data, size};
    void (*const checks[])(const char *) = {check_machine, check_status, check_stat, check_sensor};
    watched_allow(ALLOWED_BYTES(size));
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        char *proc = draw_text(&drawn);
        checks[i](proc);
        free(proc);
    }
    check_request(&drawn);
    return 0;
}
