#define _GNU_SOURCE
#include "launch.h"

#include <string.h>

#include "fixed_text.h"

/* Options of an interpreter that may precede its script. */
struct interpreter {
    const char *name;                    /* a version may follow */
    const char *alone, *valued, *module; /* letters: no value; attached or next word; module */
    const char *long_valued;             /* with a value in the next word, a blank before and behind each */
};

#define OF_PYTHON "bBdEhiIOPqRsSuvVx", "WX", "m", " --check-hash-based-pycs "
#define OF_SHELL "abefhiklmnprtuvxBCEHPT", "oO", "", " --rcfile --init-file "
#define OF_NODE "i", "rC", "", " --require --import --loader --experimental-loader --conditions --env-file "
#define OF_OCTAVE "fHqVW", "p", "", " --path --exec-path --image-path "

static const struct interpreter interpreters[] = {
    {"python", OF_PYTHON},
    {"pypy", OF_PYTHON},
    {"bash", OF_SHELL},
    {"dash", OF_SHELL},
    {"sh", OF_SHELL},
    {"zsh", OF_SHELL},
    {"ksh", OF_SHELL},
    {"node", OF_NODE},
    {"nodejs", OF_NODE},
    {"octave-cli", OF_OCTAVE},
    {"octave-gui", OF_OCTAVE},
    {"perl", "acnpsStTuUwWX", "I", "", ""},
    {"ruby", "acnpsSvwW", "Ir", "", ""},
    {"julia", "iqgO0123456789", "CHJLpt", "m", " --threads --procs --load --sysimage --machine-file --cpu-target "},
    {"lua", "EivW", "l", "", ""},
    {"octave", OF_OCTAVE},
    {"Rscript", "", "", "", ""},
    {"tclsh", "", "", "", ""}};

/* The dynamic loader, started with a program to run. */
static const struct interpreter loader = {
    "ld", "", "", "", " --library-path --preload --audit --argv0 --inhibit-rpath --glibc-hwcaps-mask "};

struct words {
    const char *at, *end;
};

/* Return the next argument; NULL behind the last one. */
static const char *next_word(struct words *words)
{
    const char *word = words->at;
    const char *end = word < words->end ? memchr(word, '\0', (size_t)(words->end - word)) : NULL;
    if (end == NULL)
        return NULL;
    words->at = end + 1;
    return word;
}

/* Return whether the file has no proper name, as the shell's <(...). */
static bool is_nameless(const char *path)
{
    return strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/", 6) == 0 || strcmp(path, "/dev/stdin") == 0;
}

/* Return the number of leading letters of a text that are in the set. Own loops, because sanitizers replace strspn()
 * and memrchr(). */
static size_t span(const char *text, const char *set)
{
    size_t length = 0;
    while (text[length] != '\0' && strchr(set, text[length]) != NULL)
        length++;
    return length;
}

/* Take the last component of a path, which may end with slashes; nothing if the path has no proper name. */
static void take_file(char *name, size_t size, const char *path, size_t length)
{
    while (length > 0 && path[length - 1] == '/')
        length--;
    size_t begin = length;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    const char *file = path + begin;
    size_t bytes = length - begin;
    bool is_none = is_nameless(path) || span(file, ".") >= bytes;
    size_t room = is_none ? 0 : bytes < size ? bytes : size - 1;
    memcpy(name, file, room);
    name[room] = '\0';
}

static void take_script(char *name, size_t size, const char *path)
{
    static const char main_file[] = "/__main__.py";
    size_t length = strlen(path), tail = sizeof main_file - 1;
    bool is_package = length > tail && strcmp(path + length - tail, main_file) == 0;
    take_file(name, size, path, is_package ? length - tail : length);
}

/* Return whether the text behind an interpreter's name is a version, with the suffix of Python builds. */
static bool is_version(const char *rest)
{
    rest += span(rest, "0123456789.-");
    return *rest == '\0' || strcmp(rest, "t") == 0 || strcmp(rest, "dbg") == 0 || strcmp(rest, "intel64") == 0;
}

static const struct interpreter *find_interpreter(const char *own)
{
    for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++) {
        size_t length = strlen(interpreters[i].name);
        if (strncmp(own, interpreters[i].name, length) == 0 && is_version(own + length))
            return &interpreters[i];
    }
    bool is_loader = strncmp(own, "ld", 2) == 0 && strchr("-.6", own[2]) != NULL && strstr(own, ".so") != NULL;
    return is_loader ? &loader : NULL;
}

static bool is_long_valued(const struct interpreter *kind, const char *word)
{
    const char *place = strstr(kind->long_valued, word);
    return place != NULL && place[-1] == ' ' && place[strlen(word)] == ' ';
}

/* Skip an option; return whether the script may follow. `name` is set if the option names a module instead. */
static bool pass_option(char *name, size_t size, const struct interpreter *kind, const char *word, struct words *rest)
{
    if (word[1] == '-')
        return !is_long_valued(kind, word) || next_word(rest) != NULL;
    const char *letter = word + 1 + span(word + 1, kind->alone);
    if (*letter == '\0')
        return word[1] != '\0'; /* - is the standard input */
    const char *value = letter[1] != '\0' ? letter + 1 : next_word(rest);
    if (strchr(kind->module, *letter) != NULL && value != NULL)
        take_file(name, size, value, strlen(value));
    return strchr(kind->valued, *letter) != NULL;
}

static void name_by_script(char *name, size_t size, const char *own, struct words words)
{
    const struct interpreter *kind = find_interpreter(own);
    next_word(&words);
    for (const char *word; kind != NULL && (word = next_word(&words)) != NULL;) {
        bool is_end = strcmp(word, "--") == 0;
        if (is_end || (*word != '-' && *word != '+'))
            word = is_end ? next_word(&words) : word;
        else if (pass_option(name, size, kind, word, &words))
            continue;
        else
            return;
        if (word != NULL)
            take_script(name, size, word);
        return;
    }
}

/* Take the name from an option of R, whose front end passes the script. */
static void name_by_option_of_r(char *name, size_t size, struct words words)
{
    static const char option[] = "--file=";
    const char *word = next_word(&words);
    while (word != NULL && strcmp(word, "-f") != 0 && strncmp(word, option, sizeof option - 1) != 0)
        word = next_word(&words);
    if (word != NULL)
        word = word[1] == 'f' ? next_word(&words) : word + sizeof option - 1;
    if (word != NULL)
        take_script(name, size, word);
}

static bool is_printable(const char *word)
{
    for (; *word != '\0'; word++)
        if ((unsigned char)*word < ' ' || *word == 0x7f)
            return false;
    return true;
}

/* Take the name from the program's first argument: its path, `-bash` for a login shell, or a title that the program has
 * written there. */
static void name_by_first_word(char *name, size_t size, const char *own, const char *word)
{
    const char *slash = strrchr(word, '/');
    if (!is_printable(word) || strcmp(slash != NULL ? slash + 1 : word, own) == 0)
        return;
    word += *word == '-';
    size_t length = strcspn(word, " ");
    bool is_title = length > 0 && word[length] == ' ' && word[length - 1] == ':';
    take_file(name, size, word, length - is_title);
}

void program_name(char *name, size_t size, const char *exe, const char *words, size_t bytes)
{
    const struct words all = {words, words + bytes};
    struct words rest = all;
    const char *slash = strrchr(exe, '/');
    const char *own = slash != NULL ? slash + 1 : exe;
    const char *first = next_word(&rest);
    name[0] = '\0';
    if (strcmp(own, "R") == 0)
        name_by_option_of_r(name, size, all);
    else
        name_by_script(name, size, own, all);
    if (!is_printable(name))
        name[0] = '\0';
    if (name[0] == '\0' && first != NULL)
        name_by_first_word(name, size, own, first);
    if (name[0] == '\0')
        text_append(name, size, own);
}

bool program_serves_pool(const char *words, size_t bytes)
{
    static const char *const beginnings[] = {"from multiprocessing.", "joblib.externals.loky.", "loky.backend."};
    struct words rest = {words, words + bytes};
    for (const char *word; (word = next_word(&rest)) != NULL;)
        for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
            if (strncmp(word, beginnings[i], strlen(beginnings[i])) == 0)
                return true;
    return false;
}
