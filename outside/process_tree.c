#define _GNU_SOURCE
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_PROCESSES 1024
#define STAT_FIELDS (TREE_WANTS(USER_NS) | TREE_WANTS(SYSTEM_NS) | TREE_WANTS(MINOR_FAULTS) | TREE_WANTS(MAJOR_FAULTS))
#define IO_FIELDS                                                                                                      \
    (TREE_WANTS(READ_BYTES) | TREE_WANTS(WRITTEN_BYTES) | TREE_WANTS(DISK_READ_BYTES) | TREE_WANTS(DISK_WRITTEN_BYTES))
#define THREAD_FIELDS (TREE_WANTS(ACTIVE_CPUS) | TREE_WANTS(RUNNING_THREADS))

/* The kernel adds the usage of an ended process to the process that waited for it, so that sums over the living
 * processes stay continuous. Only the CPU clock in nanoseconds has no such sum: its differences are accumulated. */
struct process {
    pid_t pid;
    int directory, stat, statm, io, task;
    double cpu_ns;
};

static struct process processes[MOST_PROCESSES];
static size_t count;
static uint32_t wanted;
static double cpu_ns, ns_per_tick;
static uint64_t page_bytes;
static bool is_full;

const char *tree_file(enum field field)
{
    return TREE_WANTS(field) & STAT_FIELDS ? "stat"
           : TREE_WANTS(field) & IO_FIELDS ? "io"
           : field == RESIDENT             ? "statm"
                                           : "task";
}

/* Read the CPU clock of another process, with an id as from clock_getcpuclockid. */
static double cpu_clock_ns(pid_t pid)
{
    struct timespec time = {0, 0};
    if (clock_gettime((clockid_t)(~(unsigned)pid << 3 | 2), &time) != 0)
        return -1;
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void forget(struct process *process)
{
    const int files[] = {process->stat, process->statm, process->io, process->task, process->directory};
    threads_forget(process->pid);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] >= 0)
            close(files[i]);
}

/* Open a file. Returns a descriptor or negative errno. Without a free descriptor the process is read incompletely. */
static int open_below(int directory, const char *path)
{
    int fd = text_open(directory, path);
    is_full |= fd == -EMFILE || fd == -ENFILE;
    return fd;
}

static int enter(pid_t pid)
{
    char path[32];
    for (size_t i = 0; i < count; i++)
        if (processes[i].pid == pid)
            return 0;
    is_full |= count == MOST_PROCESSES;
    if (count == MOST_PROCESSES)
        return -EMFILE;
    snprintf(path, sizeof path, "/proc/%d", pid);
    int directory = open_below(AT_FDCWD, path);
    if (directory < 0)
        return directory;
    processes[count++] = (struct process){
        .pid = pid,
        .directory = directory,
        .stat = wanted & STAT_FIELDS ? open_below(directory, "stat") : -1,
        .statm = wanted & TREE_WANTS(RESIDENT) ? open_below(directory, "statm") : -1,
        .io = wanted & IO_FIELDS ? open_below(directory, "io") : -1,
        .task = open_below(directory, "task"),
        .cpu_ns = cpu_clock_ns(pid),
    };
    return 0;
}

int tree_start(pid_t root)
{
    ns_per_tick = 1e9 / (double)sysconf(_SC_CLK_TCK);
    page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    return enter(root);
}

int tree_probe(enum field field)
{
    char text[512];
    if (field == CPU_NS)
        return cpu_clock_ns(processes[0].pid) < 0 ? -errno : 0;
    int fd = text_open(processes[0].directory, tree_file(field));
    if (fd < 0 || TREE_WANTS(field) & THREAD_FIELDS) {
        if (fd >= 0)
            close(fd);
        return fd < 0 ? fd : 0;
    }
    long got = text_read(fd, text, sizeof text);
    close(fd);
    return got < 0 ? (int)got : 0;
}

void tree_want(uint32_t fields)
{
    pid_t root = processes[0].pid;
    wanted = fields;
    forget(&processes[0]);
    count = 0;
    enter(root);
}

/* Enter the children of each thread of a process, as the kernel lists them. */
static void enter_children(struct process *process)
{
    static char text[16 * MOST_PROCESSES];
    char path[48];
    struct tids tids = {.fd = process->task};
    for (pid_t tid = tids_first(&tids); tid > 0; tid = tids_next(&tids)) {
        if (wanted & THREAD_FIELDS)
            is_full |= !threads_enter(process->pid, process->task, tid);
        snprintf(path, sizeof path, "%d/children", tid);
        int fd = open_below(process->task, path);
        if (fd < 0)
            continue;
        long got = text_read_all(fd, text, sizeof text);
        close(fd);
        for (const char *word = text_word(text, 0); got > 0 && *word != '\0'; word = text_word(word, 1))
            enter((pid_t)text_number(word));
    }
}

static bool has_ended(const struct process *process)
{
    struct tids tids = {.fd = process->task};
    return tids_first(&tids) <= 0;
}

void tree_scan(void)
{
    for (size_t i = 0; i < count; i++) /* `count` grows meanwhile */
        enter_children(&processes[i]);
    /* The first one is the program, and stays. */
    size_t remaining = 1;
    for (size_t i = 1; i < count; i++)
        if (has_ended(&processes[i]))
            forget(&processes[i]);
        else
            processes[remaining++] = processes[i];
    count = remaining;
}

static bool add_stat(const struct process *process, double *values)
{
    char text[1024];
    if (process->stat < 0)
        return true;
    if (text_read(process->stat, text, sizeof text) <= 0)
        return false;
    const char *word = text_word(text_state(text), 7);
    uint64_t numbers[8]; /* minor, of children, major, of children, user, system, of children */
    for (int i = 0; i < 8; i++, word = text_word(word, 1))
        numbers[i] = text_number(word);
    values[MINOR_FAULTS] += (double)(numbers[0] + numbers[1]);
    values[MAJOR_FAULTS] += (double)(numbers[2] + numbers[3]);
    values[USER_NS] += (double)(numbers[4] + numbers[6]) * ns_per_tick;
    values[SYSTEM_NS] += (double)(numbers[5] + numbers[7]) * ns_per_tick;
    return true;
}

static bool add_io(const struct process *process, double *values)
{
    char text[512];
    if (process->io < 0)
        return true;
    if (text_read(process->io, text, sizeof text) <= 0)
        return false;
    values[READ_BYTES] += (double)text_value(text, "rchar");
    values[WRITTEN_BYTES] += (double)text_value(text, "wchar");
    values[DISK_READ_BYTES] += (double)text_value(text, "read_bytes");
    values[DISK_WRITTEN_BYTES] += (double)text_value(text, "write_bytes");
    return true;
}

static bool add_statm(const struct process *process, double *values)
{
    char text[128];
    if (process->statm < 0)
        return true;
    if (text_read(process->statm, text, sizeof text) <= 0)
        return false;
    values[RESIDENT] += (double)(text_number(text_word(text, 1)) * page_bytes);
    return true;
}

static void add_cpu(struct process *process)
{
    double now = wanted & TREE_WANTS(CPU_NS) ? cpu_clock_ns(process->pid) : -1;
    if (now < 0)
        return;
    if (now > process->cpu_ns && process->cpu_ns >= 0)
        cpu_ns += now - process->cpu_ns;
    process->cpu_ns = now;
}

bool tree_read(double *values)
{
    double sums[FIELDS] = {0};
    for (size_t i = 0; i < count; i++) {
        struct process *process = &processes[i];
        add_cpu(process);
        bool is_there = add_stat(process, sums);
        is_there = add_io(process, sums) && is_there;
        is_there = add_statm(process, sums) && is_there;
        if (i == 0 && !is_there)
            return false;
    }
    sums[CPU_NS] = cpu_ns;
    memcpy(values, sums, sizeof(double) * ACTIVE_CPUS);
    return true;
}

void tree_update(double *values)
{
    threads_read(&values[RUNNING_THREADS], &values[ACTIVE_CPUS]);
}

bool tree_is_full(void)
{
    return is_full;
}
