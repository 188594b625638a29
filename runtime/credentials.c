#define _GNU_SOURCE
#include "spawn.h"

#include <string.h>
#include <sys/prctl.h>

#include "libc.h"
#include "sys.h"
#include "tasks.h"

#define IDS 3 /* real, effective, saved; the fourth (file system) is left to each thread */
#define CAPABILITY_WORDS 2

struct capabilities {
    uint64_t inheritable, permitted, effective;
};

/* Read the next number behind spaces; false at the end of the line. */
static bool next_number(const char **at, unsigned int base, uint64_t *number)
{
    while (**at == ' ' || **at == '\t')
        (*at)++;
    *number = 0;
    const char *start = *at;
    for (;; (*at)++) {
        unsigned int digit = **at >= 'a' ? (unsigned int)(**at - 'a') + 10 : (unsigned int)(**at - '0');
        if (**at < '0' || (**at > '9' && **at < 'a') || digit >= base)
            return *at > start;
        *number = *number * base + digit;
    }
}

static void read_ids(const char *status, const char *word, uint64_t ids[IDS])
{
    const char *at = task_field(status, word);
    for (int i = 0; i < IDS; i++)
        if (!next_number(&at, 10, &ids[i]))
            ids[i] = UINT32_MAX; /* no change */
}

static uint64_t read_mask(const char *status, const char *word)
{
    const char *at = task_field(status, word);
    uint64_t mask;
    return next_number(&at, 16, &mask) ? mask : 0;
}

static struct capabilities read_capabilities(const char *status)
{
    return (struct capabilities){read_mask(status, "CapInh:"), read_mask(status, "CapPrm:"),
                                 read_mask(status, "CapEff:")};
}

static bool same_line(const char *one, const char *other, const char *word)
{
    const char *a = task_field(one, word);
    const char *b = task_field(other, word);
    for (; *a == *b && *a != '\n' && *a != '\0'; a++, b++)
        ;
    return *a == *b;
}

static bool same_ids(const char *one, const char *other, const char *word)
{
    uint64_t a[IDS], b[IDS];
    read_ids(one, word, a);
    read_ids(other, word, b);
    return memcmp(a, b, sizeof a) == 0;
}

static bool same_users(const char *one, const char *other)
{
    return same_ids(one, other, "Uid:") && same_ids(one, other, "Gid:") && same_line(one, other, "Groups:");
}

static void set_capabilities(struct capabilities set)
{
    struct capability_header head = {CAPABILITY_VERSION, 0};
    struct capability_data data[CAPABILITY_WORDS];
    for (int i = 0; i < CAPABILITY_WORDS; i++)
        data[i] = (struct capability_data){.effective = (uint32_t)(set.effective >> 32 * i),
                                           .permitted = (uint32_t)(set.permitted >> 32 * i),
                                           .inheritable = (uint32_t)(set.inheritable >> 32 * i)};
    SYS2(SYS_capset, &head, data);
}

static void set_groups(const char *status)
{
    struct buffer groups = {0};
    const char *at = task_field(status, "Groups:");
    uint64_t group;
    while (next_number(&at, 10, &group))
        buffer_u32(&groups, (uint32_t)group);
    if (!groups.failed)
        SYS2(SYS_setgroups, groups.length / sizeof(uint32_t), groups.data);
    buffer_free(&groups);
}

static void set_ids(const char *status)
{
    uint64_t users[IDS], of_groups[IDS];
    read_ids(status, "Gid:", of_groups);
    read_ids(status, "Uid:", users);
    SYS3(SYS_setresgid, of_groups[0], of_groups[1], of_groups[2]);
    SYS3(SYS_setresuid, users[0], users[1], users[2]);
}

/* Change the credentials, with all permitted capabilities kept effective until the end, also after the change of user.
 * The kernel clears the dumpable flag with every change; restore the application's setting. */
static void change(const struct buffer *own, const char *status)
{
    struct capabilities all = read_capabilities((const char *)own->data);
    struct capabilities wanted = read_capabilities(status);
    long is_dumpable = SYS5(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0);
    all.effective = all.permitted;
    set_capabilities(all);
    SYS5(SYS_prctl, PR_SET_KEEPCAPS, 1, 0, 0, 0);
    if (!same_line(status, (const char *)own->data, "Groups:"))
        set_groups(status);
    set_ids(status);
    set_capabilities((struct capabilities){.inheritable = wanted.inheritable & (all.inheritable | all.permitted),
                                           .permitted = wanted.permitted & all.permitted,
                                           .effective = wanted.effective & all.permitted});
    SYS5(SYS_prctl, PR_SET_KEEPCAPS, 0, 0, 0, 0);
    if (is_dumpable == 1)
        SYS5(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static bool has_more(struct capabilities one, struct capabilities other)
{
    return ((one.permitted & ~other.permitted) | (one.effective & ~other.effective) |
            (one.inheritable & ~other.inheritable)) != 0;
}

static bool read_own(struct buffer *own)
{
    return task_read("thread-self/status", own);
}

enum credentials credentials_follow(struct buffer *own, const char *status)
{
    if (own->length == 0 && !read_own(own))
        return CREDENTIALS_SAME; /* if it is unreadable, `status` was empty too */
    struct capabilities theirs = read_capabilities(status);
    struct capabilities ours = read_capabilities((const char *)own->data);
    if (same_users(status, (const char *)own->data) && memcmp(&ours, &theirs, sizeof ours) == 0)
        return CREDENTIALS_SAME;
    change(own, status);
    bool is_done = read_own(own) && same_users(status, (const char *)own->data) &&
                   !has_more(read_capabilities((const char *)own->data), theirs);
    return is_done ? CREDENTIALS_CHANGED : CREDENTIALS_REFUSED;
}
