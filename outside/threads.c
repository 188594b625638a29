#define _GNU_SOURCE
#include "proc.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys.h"

#define MOST_THREADS 4096
#define MOST_PROCESSORS 8192

struct thread {
    pid_t process, tid;
    int fd;
};

static struct thread threads[MOST_THREADS];
static size_t count, next_place;

pid_t tids_first(struct tids *tids)
{
    tids->filled = tids->at = 0;
    lseek(tids->fd, 0, SEEK_SET);
    return tids_next(tids);
}

pid_t tids_next(struct tids *tids)
{
    for (;;) {
        if (tids->at >= tids->filled) {
            tids->at = 0;
            tids->filled = SYS3(SYS_getdents64, tids->fd, tids->entries, sizeof tids->entries);
            if (tids->filled <= 0)
                return (pid_t)tids->filled;
        }
        const struct sys_directory_entry *entry = (const void *)(tids->entries + tids->at);
        tids->at += entry->length;
        if (entry->name[0] >= '1' && entry->name[0] <= '9')
            return (pid_t)text_number(entry->name);
    }
}

/* Return whether the thread is followed. The kernel lists threads in the table's order, so the next one is usually the
 * next in the table. */
static bool is_listed(pid_t tid)
{
    for (size_t i = 0; i < count; i++, next_place++) {
        if (next_place >= count)
            next_place = 0;
        if (threads[next_place].tid == tid) {
            next_place++;
            return true;
        }
    }
    return false;
}

bool threads_enter(pid_t process, int task, pid_t tid)
{
    char path[32];
    if (is_listed(tid))
        return true;
    if (count == MOST_THREADS)
        return false;
    snprintf(path, sizeof path, "%d/stat", tid);
    int fd = text_open(task, path);
    if (fd >= 0)
        threads[count++] = (struct thread){process, tid, fd};
    return fd >= 0 || (fd != -EMFILE && fd != -ENFILE);
}

static void remove_thread(size_t at)
{
    close(threads[at].fd);
    memmove(&threads[at], &threads[at + 1], (--count - at) * sizeof *threads);
}

void threads_forget(pid_t process)
{
    for (size_t i = count; i-- > 0;)
        if (threads[i].process == process)
            remove_thread(i);
}

void threads_read(double *running, double *processors)
{
    static uint64_t counted[MOST_PROCESSORS / 64];
    char text[1024];
    memset(counted, 0, sizeof counted);
    *running = *processors = 0;
    for (size_t i = count; i-- > 0;) {
        if (text_read(threads[i].fd, text, sizeof text) <= 0) {
            remove_thread(i);
            continue;
        }
        const char *state = text_state(text);
        if (*state != 'R')
            continue;
        uint64_t processor = text_number(text_word(state, 36)) % MOST_PROCESSORS;
        uint64_t bit = (uint64_t)1 << processor % 64;
        *processors += (counted[processor / 64] & bit) == 0;
        *running += 1;
        counted[processor / 64] |= bit;
    }
}
