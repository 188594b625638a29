/* Ownership of DIR, DIR.1, DIR.2, ... A launch owns the directory whose file `launch` holds its identity. That file is
 * created once, exclusively, and a number is used only when the one below it is taken, so that ranks of a launch find
 * each other even if another launch starts at the same time. Paths are static: heartbeats may start on a coroutine's
 * stack of a few KiB. */
#define _GNU_SOURCE
#include <string.h>

#include "fixed_text.h"
#include "launch.h"
#include "log.h"
#include "output.h"
#include "sys.h"

#define MOST_LOOKED_AT 256u /* directories where other ranks of the launch may be */
#define MOST_CLAIMS 10000u  /* attempts while other launches are faster */
#define MOST_PATIENCE 2000  /* milliseconds, for processes that are writing their identity */
#define LONGEST_PAUSE 64    /* longest pause between checks, in milliseconds */
#define LISTING_BYTES ((size_t)64 << 10)

enum owner { OURS, OTHERS, NOBODYS, FAILED };

struct search {
    const char *identity;
    int patience;
    int pause; /* before the next check, in milliseconds */
};

/* Many ranks may wait for the same line, so the pauses become longer and longer. */
static void wait_with_backoff(struct search *search)
{
    const struct timespec pause = {0, search->pause * 1000000};
    SYS2(SYS_nanosleep, &pause, NULL);
    search->patience -= search->pause;
    search->pause = search->pause < LONGEST_PAUSE ? 2 * search->pause : LONGEST_PAUSE;
}

/* Return the owner. A process that has created the file may not have written its line yet. FAILED: the file cannot be
 * read. */
static enum owner owner_of(const char *file, struct search *search)
{
    char text[sizeof((struct launch *)0)->identity + 1];
    search->pause = 1;
    for (;;) {
        int fd = sys_open(file, O_RDONLY | O_NONBLOCK, 0); /* never block, whatever has that name */
        if (fd < 0)
            return fd == -ENOENT ? NOBODYS : FAILED;
        long got = SYS3(SYS_read, fd, text, sizeof text - 1);
        sys_close(fd);
        if (got > 0 && text[got - 1] == '\n') {
            text[got - 1] = '\0';
            return strcmp(text, search->identity) == 0 ? OURS : OTHERS;
        }
        if (search->patience <= 0)
            return OTHERS;
        wait_with_backoff(search);
    }
}

static enum owner fail(const char *directory, long error)
{
    log_error("cannot write to the run directory, not recording", directory, error);
    return FAILED;
}

/* Write the identity into the file, which is ours. */
static enum owner sign(int fd, const char *file, const char *directory, const char *identity)
{
    char line[sizeof((struct launch *)0)->identity + 1] = "";
    text_append(line, sizeof line - 1, identity);
    text_append(line, sizeof line, "\n");
    long length = (long)strlen(line);
    struct quiet quiet = quiet_begin();
    long wrote = SYS3(SYS_write, fd, line, length);
    quiet_end(quiet);
    sys_close(fd);
    if (wrote == length)
        return OURS;
    sys_unlink(file); /* so that no other process waits for its line */
    return fail(directory, wrote < 0 ? wrote : -ENOSPC);
}

static void name_file(char *file, const char *directory)
{
    strcpy(file, directory);
    text_append(file, PATH_MAX, "/launch");
}

/* Create the parent directories, as mkdir -p. */
static void make_parents(const char *directory)
{
    static char part[PATH_MAX];
    strcpy(part, directory);
    for (char *at = part + 1; *at != '\0'; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        sys_mkdir(part, 0777);
        *at = '/';
    }
}

/* Claim the directory for the launch, unless another one owns it. With `numbered`, an inaccessible one counts as
 * another's. For most ranks of a launch it is already claimed, and they only read its owner. */
static enum owner claim(const char *directory, bool numbered, struct search *search)
{
    static char file[PATH_MAX];
    name_file(file, directory);
    search->patience = MOST_PATIENCE;
    enum owner owner = owner_of(file, search);
    if (owner == OURS || owner == OTHERS)
        return owner;
    long error = sys_mkdir(directory, 0777);
    if (error == -ENOENT) {
        make_parents(directory);
        error = sys_mkdir(directory, 0777);
    }
    if (error != 0 && error != -EEXIST)
        return fail(directory, error);
    owner = NOBODYS;
    for (int attempt = 0; owner == NOBODYS && attempt < 3; attempt++) { /* the creator of the file has unlinked it */
        int fd = sys_open(file, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (fd >= 0)
            return sign(fd, file, directory, search->identity);
        if (fd != -EEXIST)
            return numbered && (fd == -ENOTDIR || fd == -EACCES) ? OTHERS : fail(directory, fd);
        owner = owner_of(file, search);
    }
    return owner == OURS ? OURS : OTHERS;
}

/* Return the number in a name such as run.12, where `stem` is run; or 0. */
static unsigned int number_in(const char *name, const char *stem, size_t stem_length)
{
    unsigned int number = 0;
    if (strncmp(name, stem, stem_length) != 0 || name[stem_length] != '.' || name[stem_length + 1] == '0')
        return 0;
    for (name += stem_length + 1; *name >= '0' && *name <= '9' && number < 100000000; name++)
        number = number * 10 + (unsigned int)(*name - '0');
    return *name == '\0' ? number : 0;
}

/* Return the highest N of existing DIR.N; 0 if there is none, or if the parent directory cannot be listed. */
static unsigned int highest_number(const char *stem)
{
    static char above[PATH_MAX];
    const char *name = launch_basename(stem);
    size_t length = (size_t)(name - stem);
    unsigned int highest = 0;
    memcpy(above, stem, length);
    strcpy(above + length, ".");
    int fd = sys_open(above, O_RDONLY | O_DIRECTORY, 0);
    char *listing = fd >= 0 ? sys_alloc(LISTING_BYTES) : NULL;
    long got;
    while (listing != NULL && (got = SYS3(SYS_getdents64, fd, listing, LISTING_BYTES)) > 0) {
        for (long at = 0; at < got;) {
            const struct sys_directory_entry *entry = (const void *)(listing + at);
            unsigned int number = number_in(entry->name, name, strlen(name));
            highest = number > highest ? number : highest;
            at += entry->length;
        }
    }
    sys_free(listing, LISTING_BYTES);
    if (fd >= 0)
        sys_close(fd);
    return highest;
}

static void name_numbered(char *directory, const char *stem, unsigned int number)
{
    strcpy(directory, stem);
    text_append(directory, PATH_MAX, ".");
    text_append_number(directory, PATH_MAX, number, 1);
}

/* Claim a numbered directory when another launch owns DIR itself: search from the highest number down for our launch's,
 * or else claim the first free number above. */
static enum owner claim_numbered(struct launch *launch, const char *stem, struct search *search)
{
    static char file[PATH_MAX];
    unsigned int highest = highest_number(stem);
    unsigned int first = highest + 1;
    bool is_above_all = true;
    for (unsigned int number = highest; number > 0 && highest - number < MOST_LOOKED_AT; number--) {
        name_numbered(launch->directory, stem, number);
        name_file(file, launch->directory);
        enum owner owner = owner_of(file, search);
        if (owner == OURS)
            return OURS;
        is_above_all = is_above_all && owner == NOBODYS; /* about to be claimed, perhaps by one of us */
        if (is_above_all)
            first = number;
    }
    for (unsigned int number = first; number - first < MOST_CLAIMS; number++) {
        name_numbered(launch->directory, stem, number);
        enum owner owner = claim(launch->directory, true, search);
        if (owner != OTHERS)
            return owner;
    }
    log_warn("too many run directories of other launches, not recording", stem);
    return FAILED;
}

bool launch_claim_directory(struct launch *launch, const char *given, const char *prefix)
{
    static char stem[PATH_MAX - 16];
    struct search search = {launch->job != NULL ? launch->job : launch->identity, MOST_PATIENCE, 1};
    if (!launch_name_directory(launch, given, prefix, stem, sizeof stem))
        return false;
    for (size_t length = strlen(stem); length > 1 && stem[length - 1] == '/'; length--)
        stem[length - 1] = '\0';
    strcpy(launch->directory, stem);
    enum owner owner = claim(launch->directory, false, &search);
    launch->is_numbered = owner == OTHERS;
    if (launch->is_numbered)
        owner = claim_numbered(launch, stem, &search);
    if (owner == OURS)
        log_debug("recording", launch->directory);
    return owner == OURS;
}
