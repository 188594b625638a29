#define _GNU_SOURCE
#include "rows.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "perf_counter.h"
#include "proc.h"
#include "sensors.h"

/* Limit of ticks to wait for a counter that others occupy. */
#define MOST_MISSED 20
#define OF_A_PROGRAM "only of a program, not of the machine"
#define IN_STEPS "counted in steps of 10 ms"

static double values[FIELDS], of_machine[FIELDS];
static uint32_t tree_fields;
static bool has_sampled; /* has sampled thread states since the last reading */

/* Return whether the event is perf's task clock, which always includes kernel mode. */
static bool is_task_clock(const struct event *event)
{
    return event->type == PERF_TYPE_SOFTWARE && event->config == PERF_COUNT_SW_TASK_CLOCK;
}

static void open_counter(struct column *column, const struct event *event, struct target target)
{
    bool of_kernel = event_is_of_kernel(event);
    int error = counter_open(&column->counter, event->type, event->config, of_kernel, target);
    column->has_counter = error == 0;
    if (error != 0)
        refusal_of_counter(column->why, sizeof column->why, error, event->type, of_kernel, target);
    else if (column->counter.user_only && !is_task_clock(event))
        strcpy(column->note, "without the kernel's part, which perf_event_paranoid forbids");
}

static void open_uncore(struct column *column, bool is_write)
{
    int error = uncore_open(&column->counter, is_write);
    column->has_counter = error == 0;
    column->is_of_machine = true;
    if (error == -ENODEV)
        strcpy(column->why, "no memory controller has counters here (uncore_imc, amd_umc)");
    else if (error != 0)
        refusal_of_counter(column->why, sizeof column->why, error, PERF_TYPE_RAW, true, (struct target){OF_MACHINE, 0});
}

static bool is_in_ticks(enum field field)
{
    return field == CPU_NS || field == USER_NS || field == SYSTEM_NS || field == ACTIVE_CPUS ||
           field == WAITING_FOR_IO_NS;
}

static void open_of_machine(struct column *column, enum field field)
{
    const char *path = machine_file(field);
    int error = path == NULL ? 0 : machine_probe(field);
    if (path == NULL)
        strcpy(column->why, OF_A_PROGRAM);
    else if (error == -ENODEV)
        snprintf(column->why, sizeof column->why, "%s lists no %s", path,
                 field == DISK_READ_BYTES || field == DISK_WRITTEN_BYTES ? "disk" : "network interface but lo");
    else if (error != 0)
        refusal_of_file(column->why, sizeof column->why, error, path);
    else if (is_in_ticks(field))
        strcpy(column->note, IN_STEPS);
    column->is_of_machine = true;
}

/* Open the kernel's own sums in place of a kernel event that perf is not permitted to count. */
static void open_stand_in(struct column *column)
{
    enum field field = event_stand_in(column->event);
    char why[sizeof column->why];
    if (field == FIELDS)
        return;
    strcpy(why, column->why);
    column->why[0] = '\0';
    open_of_machine(column, field);
    if (column->why[0] == '\0')
        snprintf(column->note, sizeof column->note, "from %s", machine_file(field));
    else
        strcpy(column->why, why);
    column->field = field;
}

static void open_of_tree(struct column *column, enum field field, struct target target)
{
    char path[48];
    int error = tree_probe(field);
    if (error != 0) {
        snprintf(path, sizeof path, "/proc/%d/%s", target.pid, tree_file(field));
        refusal_of_file(column->why, sizeof column->why, error, path);
        return;
    }
    tree_fields |= TREE_WANTS(field);
    if (field == USER_NS || field == SYSTEM_NS)
        strcpy(column->note, IN_STEPS);
}

/* Open a column of CPU time. perf's clock is exact; the kernel updates the other one only a few hundred times a
 * second. */
static void open_cpu(struct column *column, struct target target)
{
    static const struct event clock = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK};
    open_counter(column, &clock, target);
    if (column->has_counter)
        return;
    snprintf(column->note, sizeof column->note, "in steps of the kernel's clock tick, without perf's task-clock");
    column->why[0] = '\0';
    open_of_tree(column, CPU_NS, target);
}

static void open_column(struct column *column, struct target target)
{
    const struct event *event = column->event;
    enum field field = (enum field)event->config;
    column->field = field;
    if (target.scope == OF_MACHINE && is_task_clock(event)) {
        strcpy(column->why, OF_A_PROGRAM); /* the kernel counts all time there */
    } else if (event->source == FROM_PERF) {
        open_counter(column, event, target);
        if (!column->has_counter && target.scope == OF_MACHINE)
            open_stand_in(column);
    } else if (event->source == FROM_UNCORE)
        open_uncore(column, event->config != 0);
    else if (event->source == FROM_SENSOR)
        sensor_open(event->config, column->why, sizeof column->why, column->note, sizeof column->note);
    else if (target.scope == OF_MACHINE || field >= RUN_QUEUE)
        open_of_machine(column, field);
    else if (field == CPU_NS)
        open_cpu(column, target);
    else
        open_of_tree(column, field, target);
}

static void open_ratio(struct columns *columns, struct column *column)
{
    const struct event *parts[2];
    event_parts(column->event, parts);
    for (size_t i = 0; i < columns->count; i++)
        for (int part = 0; part < 2; part++)
            if (columns->all[i].event == parts[part])
                column->parts[part] = &columns->all[i];
    for (int part = 0; part < 2; part++)
        if (column->parts[part] == NULL || column->parts[part]->why[0] != '\0') {
            snprintf(column->why, sizeof column->why, "needs %s", parts[part]->name);
            return;
        }
}

/* Return whether the event's steps are too coarse: steps of 10 ms in intervals of 5 ms would look like a period of two
 * samples. */
static bool is_too_coarse(const struct event *event, struct target target, uint64_t interval_ns)
{
    enum field field = (enum field)event->config;
    bool is_exact_of_a_program = target.scope != OF_MACHINE && (field == CPU_NS || field == ACTIVE_CPUS);
    bool in_ticks = event->source == FROM_PROC && is_in_ticks(field) && !is_exact_of_a_program;
    return in_ticks && interval_ns > 0 && interval_ns < 2000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
}

size_t columns_open(struct columns *columns, const struct event *const *chosen, size_t count, struct target target,
                    uint64_t interval_ns)
{
    size_t available = 0;
    int error = target.scope == OF_MACHINE ? 0 : tree_start(target.pid);
    columns->target = target;
    columns->count = count;
    for (size_t i = 0; i < count; i++)
        columns->all[i] = (struct column){.event = chosen[i]};
    for (size_t i = 0; i < count; i++) {
        struct column *column = &columns->all[i];
        if (error != 0)
            refusal_of_file(column->why, sizeof column->why, error, "/proc/PID");
        else if (is_too_coarse(column->event, target, interval_ns))
            strcpy(column->why, IN_STEPS ": take an interval of 20 ms or more");
        else if (column->event->source == DERIVED)
            open_ratio(columns, column);
        else
            open_column(column, target);
        available += column->why[0] == '\0';
    }
    if (error == 0 && target.scope != OF_MACHINE)
        tree_want(tree_fields);
    return available;
}

bool columns_need_scans(const struct columns *columns)
{
    return columns->target.scope != OF_MACHINE && tree_fields != 0;
}

void columns_scan(struct columns *columns)
{
    if (columns_need_scans(columns))
        tree_scan();
}

bool column_is_of_threads(const struct column *column)
{
    return column->why[0] == '\0' && !column->is_of_machine && column->event->source == FROM_PROC &&
           (column->field == ACTIVE_CPUS || column->field == RUNNING_THREADS);
}

bool columns_need_polling(const struct columns *columns)
{
    return columns_need_scans(columns) && (tree_fields & (TREE_WANTS(ACTIVE_CPUS) | TREE_WANTS(RUNNING_THREADS))) != 0;
}

void columns_update(struct columns *columns)
{
    has_sampled = columns_need_polling(columns);
    if (has_sampled)
        tree_update(values);
}

static bool read_column(struct column *column, bool levels)
{
    const struct event *event = column->event;
    if (column->why[0] != '\0' || event->kind == RATIO)
        return true;
    if (event->source == FROM_SENSOR) {
        column->is_counted = sensor_read(event->config, &column->now);
        return true;
    }
    if (!column->has_counter) {
        if (event->kind == LEVEL && !levels)
            return true;
        column->now = (column->is_of_machine ? of_machine : values)[column->field];
        column->is_counted = has_sampled || !column_is_of_threads(column);
        return true;
    }
    column->is_counted = counter_read(&column->counter);
    column->now = column->counter.total;
    column->missed = column->is_counted ? 0 : column->missed + 1;
    return column->is_counted || column->missed > MOST_MISSED;
}

bool columns_read(struct columns *columns, bool levels)
{
    bool counted = true;
    if (columns_need_scans(columns))
        tree_read(values);
    machine_read(of_machine);
    for (size_t i = 0; i < columns->count; i++)
        counted &= read_column(&columns->all[i], levels);
    has_sampled = false;
    return counted;
}
