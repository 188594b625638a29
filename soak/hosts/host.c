#include "host.h"

static const struct action *const all_actions[] = {work_actions,   thread_actions, process_actions,
                                                   signal_actions, stack_actions,  file_actions,
                                                   limit_actions,  end_actions,    differing_actions};
static char **script;
static char path[4096];

void say(const char *text, long number)
{
    char line[128];
    int length = snprintf(line, sizeof line, "%s %ld\n", text, number);
    if (write(1, line, (size_t)length) < 0)
        return;
}

char **rest_of_script(void)
{
    return script;
}

const char *own_path(void)
{
    return path;
}

static bool do_action(const char *word)
{
    const char *colon = strchr(word, ':');
    size_t length = colon != NULL ? (size_t)(colon - word) : strlen(word);
    long number = colon != NULL ? strtol(colon + 1, NULL, 10) : 0;
    for (size_t file = 0; file < sizeof all_actions / sizeof *all_actions; file++) {
        for (const struct action *action = all_actions[file]; action->name != NULL; action++) {
            if (strncmp(action->name, word, length) != 0 || action->name[length] != '\0')
                continue;
            action->act(number);
            return true;
        }
    }
    return false;
}

void run_script(char **words)
{
    for (script = words; *script != NULL;) {
        const char *word = *script++;
        if (!do_action(word)) {
            fprintf(stderr, "host: no action %s\n", word);
            _exit(99);
        }
    }
}

int main(int count, char **words)
{
    (void)count;
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
        return 98;
    ledger_open();
    run_script(words + 1);
    say("end", 0);
    return 0;
}
