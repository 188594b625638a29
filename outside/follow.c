#define _GNU_SOURCE
#include "follow.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "config.h"
#include "perf_rings.h"
#include "proc.h"
#include "sys.h"
#include "table.h"

/* When one of several threads calls exec, all end, and a moment later the process has one thread again. */
#define EXEC_NS 50000000u

struct process_entry {
    uint64_t pid;
    struct followed *process; /* NULL: it has ended */
};

struct thread_entry {
    uint64_t tid;
    struct followed *process; /* NULL: it has ended */
    uint64_t number;
};

static struct table processes = {.record_size = sizeof(struct process_entry), .key_size = 8};
static struct table threads = {.record_size = sizeof(struct thread_entry), .key_size = 8};
static const struct config *config;
static const struct launch *launch;
static const char *program;
static bool sees_kernel;
static struct follow_totals totals;

void follow_begin(const struct config *configured, const struct launch *of, const char *chosen, bool with_kernel)
{
    config = configured;
    launch = of;
    program = chosen;
    sees_kernel = with_kernel;
    waiters_begin(configured->format == FORMAT_STREAM ? configured->waits_hz : 0, configured->budget);
}

static struct followed *find_process(pid_t pid)
{
    const uint64_t key = (uint64_t)pid;
    const struct process_entry *entry = table_find(&processes, &key);
    return entry != NULL ? entry->process : NULL;
}

static struct followed *add_process(pid_t pid)
{
    const uint64_t key = (uint64_t)pid;
    struct process_entry *entry = table_add(&processes, &key, NULL);
    struct followed *process = entry != NULL ? followed_new(pid, config, launch) : NULL;
    if (process == NULL)
        return NULL;
    process->sees_kernel = sees_kernel;
    entry->process = process;
    return process;
}

static struct thread_entry *find_thread(pid_t tid)
{
    const uint64_t key = (uint64_t)tid;
    struct thread_entry *entry = table_find(&threads, &key);
    return entry != NULL && entry->process != NULL ? entry : NULL;
}

bool follow_has_thread(pid_t tid)
{
    return find_thread(tid) != NULL;
}

/* `is_new`: it starts at `now_ns`. */
static struct thread_entry *add_thread(struct followed *process, pid_t tid, uint64_t now_ns, bool is_new)
{
    const uint64_t key = (uint64_t)tid;
    struct thread_entry *entry = table_add(&threads, &key, NULL);
    if (entry == NULL || entry->process == process)
        return entry;
    entry->process = process;
    entry->number = process->next_thread++;
    followed_begin_thread(process, now_ns);
    waiters_add(process, tid, (uint32_t)entry->number, is_new ? now_ns : 0);
    return entry;
}

static void end_thread(struct thread_entry *entry, uint64_t now_ns)
{
    followed_end_thread(entry->process, now_ns, (uint32_t)entry->number);
    waiters_remove(entry->process, (pid_t)entry->tid);
    entry->process = NULL;
}

void follow_thread(pid_t pid, pid_t tid, uint64_t now_ns)
{
    struct followed *process = find_process(pid);
    if (process != NULL)
        add_thread(process, tid, now_ns, false);
}

static void begin(struct followed *process, uint64_t now_ns, bool is_forked, enum opening opening)
{
    followed_begin(process, now_ns, is_forked, opening);
    totals.processes++;
}

/* Return whether to record a process, by the collector's rules (all that a job starts, unless some are named), with the
 * kernel's name in place of the name by which it was started. */
static bool is_chosen(const char *path, const char *name)
{
    if (config->exe == NULL || *config->exe == '\0')
        return config->follow || strcmp(path, program) == 0;
    bool is_pattern = config->exe[strcspn(config->exe, "*?[")] != '\0';
    const char *file = launch_basename(path);
    bool is_named =
        fnmatch(config->exe, path, 0) == 0 || fnmatch(config->exe, file, 0) == 0 || fnmatch(config->exe, name, 0) == 0;
    return is_named && !(is_pattern && starter_is(file));
}

/* Return when to open the file. Launchers and similar programs, which do little, leave no file. */
static enum opening opening_of(const char *path)
{
    return strcmp(path, program) == 0 ? OPEN_AT_ONCE : OPEN_LATE;
}

bool follow_child(pid_t pid)
{
    struct followed *process = add_process(pid);
    if (process == NULL)
        return false;
    process->awaits_program = true;
    return add_thread(process, pid, 0, false) != NULL;
}

static void read_identity(struct followed *process, const char *path)
{
    snprintf(process->launch.exe, sizeof process->launch.exe, "%s", path);
    launch_name_program(&process->launch);
    process->code.entry = target_entry(process->pid);
    target_directory(process->pid, process->launch.cwd, sizeof process->launch.cwd);
}

bool follow_running(pid_t pid, const char *path, uint64_t now_ns)
{
    struct followed *process = add_process(pid);
    if (process == NULL)
        return false;
    target_name(pid, process->name, sizeof process->name);
    read_identity(process, path);
    process->last_cpu_ns = target_cpu_ns(pid);
    mappings_read(&process->maps, pid);
    process->maps_changed = true;
    if (totals.processes == 0 || is_chosen(path, process->name))
        begin(process, now_ns, false, opening_of(path));
    return true;
}

static void finish(struct followed *process, uint64_t now_ns)
{
    struct recording *recording = &process->recording;
    followed_end(process, now_ns);
    totals.samples += recording->samples;
    totals.ticks += process->ticks;
    totals.unsampled += process->unsampled;
    process->ticks = process->unsampled = 0;
    totals.lost += recording->lost;
    if (recording->intervals > totals.intervals)
        totals.intervals = recording->intervals;
    recording->samples = recording->lost = recording->intervals = 0;
}

/* Handle the exec of the program at `path`. */
static void take_program(struct followed *process, const char *path, uint64_t now_ns)
{
    process->awaits_program = false;
    read_identity(process, path);
    if (is_chosen(path, process->name))
        begin(process, now_ns, false, opening_of(path));
}

static void on_fork(const struct task_record *record, uint64_t now_ns)
{
    struct followed *process = find_process((pid_t)record->pid);
    const struct followed *parent = find_process((pid_t)record->parent_pid);
    if (record->pid == record->parent_pid) {
        if (process != NULL)
            add_thread(process, (pid_t)record->tid, now_ns, true);
        return;
    }
    if (parent == NULL || (process = add_process((pid_t)record->pid)) == NULL)
        return;
    followed_fork(process, parent);
    if (parent->is_recorded && config->follow)
        begin(process, now_ns, true, OPEN_LATE);
    add_thread(process, (pid_t)record->tid, now_ns, true);
}

static void on_exit_record(const struct task_record *record, uint64_t now_ns)
{
    struct thread_entry *entry = find_thread((pid_t)record->tid);
    if (entry != NULL)
        end_thread(entry, now_ns);
}

/* Drop all threads except one, which now has the process's id. */
static void keep_one_thread(struct followed *process, uint64_t now_ns)
{
    for (size_t i = 0; i < threads.count; i++) {
        struct thread_entry *entry = table_record(&threads, i);
        if (entry->process == process)
            end_thread(entry, now_ns);
    }
    process->next_thread = 0;
    add_thread(process, process->pid, now_ns, false);
}

static void on_name(const struct name_record *record, uint64_t now_ns)
{
    struct followed *process = find_process((pid_t)record->pid);
    if (process == NULL)
        return;
    bool is_exec = (record->header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
    if (is_exec || record->pid == record->tid)
        snprintf(process->name, sizeof process->name, "%s", record->name);
    if (!is_exec)
        return;
    finish(process, now_ns);
    followed_forget_code(process);
    keep_one_thread(process, now_ns);
    process->awaits_program = true;
}

static void on_map(const struct map_record *record, uint64_t now_ns)
{
    struct followed *process = find_process((pid_t)record->pid);
    const struct mapped mapped = {record->start, record->bytes, record->offset, record->inode, record->path};
    bool is_file = record->path[0] == '/' && record->path[1] != '/';
    if (process == NULL || (record->protection & PROT_EXEC) == 0)
        return;
    if (process->awaits_program && is_file)
        take_program(process, record->path, now_ns);
    mappings_add(&process->maps, &mapped, process->pid);
    process->maps_changed = true;
}

static void on_sample(const struct perf_event_header *record, uint64_t now_ns)
{
    const struct sample_start *start = (const void *)record;
    struct followed *process = find_process((pid_t)start->pid);
    if (process == NULL || !process->is_recorded)
        return;
    const struct thread_entry *entry = add_thread(process, (pid_t)start->tid, now_ns, false);
    if (entry != NULL)
        followed_take(process, record, (uint32_t)entry->number);
}

/* Handle lost records. Their process is unknown, so they are reported where the loss was detected. */
static void on_lost(const struct lost_record *record)
{
    const struct record_end *end =
        (const void *)((const uint8_t *)record + record->header.size - sizeof(struct record_end));
    struct followed *process = find_process((pid_t)end->pid);
    if (process != NULL && process->is_recorded)
        process->interval.totals.lost += record->lost;
    else
        totals.lost += record->lost;
}

void follow_record(const struct perf_event_header *record, uint64_t time_ns)
{
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        on_sample(record, time_ns);
        break;
    case PERF_RECORD_MMAP2:
        on_map((const void *)record, time_ns);
        break;
    case PERF_RECORD_COMM:
        on_name((const void *)record, time_ns);
        break;
    case PERF_RECORD_FORK:
        on_fork((const void *)record, time_ns);
        break;
    case PERF_RECORD_EXIT:
        on_exit_record((const void *)record, time_ns);
        break;
    case PERF_RECORD_LOST:
        on_lost((const void *)record);
        break;
    default:
        break;
    }
}

static void drop(struct process_entry *entry)
{
    finish(entry->process, entry->process->ended_ns);
    for (size_t i = 0; i < threads.count; i++) {
        struct thread_entry *thread = table_record(&threads, i);
        if (thread->process == entry->process)
            thread->process = NULL;
    }
    followed_free(entry->process);
    entry->process = NULL;
}

void follow_tick(uint64_t now_ns)
{
    for (size_t i = 0; i < processes.count; i++) {
        struct process_entry *entry = table_record(&processes, i);
        struct followed *process = entry->process;
        if (process == NULL)
            continue;
        if (process->ended_ns != 0 && now_ns > process->ended_ns + EXEC_NS) {
            drop(entry);
            continue;
        }
        if (!process->is_recorded || process->ended_ns != 0) /* its last interval ends at its own end */
            continue;
        followed_poll(process);
        if (!process->is_recorded || followed_is_idle(process, now_ns))
            continue;
        if (process->grid_ns <= now_ns)
            followed_close_interval(process, now_ns);
    }
}

bool follow_is_urgent(void)
{
    for (size_t i = 0; i < processes.count; i++) {
        const struct process_entry *entry = table_record(&processes, i);
        if (entry->process != NULL && followed_runs_python(entry->process))
            return true;
    }
    return false;
}

uint64_t follow_next_ns(void)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < processes.count; i++) {
        const struct process_entry *entry = table_record(&processes, i);
        const struct followed *process = entry->process;
        if (process == NULL || !process->is_recorded)
            continue;
        uint64_t due_ns = process->ended_ns != 0 ? process->ended_ns + EXEC_NS + 1 : process->grid_ns;
        next_ns = due_ns < next_ns ? due_ns : next_ns;
    }
    return next_ns;
}

void follow_end(uint64_t now_ns)
{
    for (size_t i = 0; i < processes.count; i++) {
        struct process_entry *entry = table_record(&processes, i);
        if (entry->process == NULL)
            continue;
        if (entry->process->ended_ns == 0)
            entry->process->ended_ns = now_ns;
        drop(entry);
    }
}

struct follow_totals follow_totals(void)
{
    return totals;
}
