/* argv[1] threads that sleep: what each costs the process beside its stack. "locked": all memory is locked. */
#include "host.h"

#include <sys/mman.h>

static void *sleeps(void *unused)
{
    pause();
    return unused;
}

static long lines_of(const char *path, const char *key)
{
    char line[4096];
    long found = 0;
    FILE *file = fopen(path, "r");
    while (fgets(line, sizeof line, file) != NULL)
        found += key == NULL ? 1 : strncmp(line, key, strlen(key)) == 0 ? atol(line + strlen(key)) : 0;
    fclose(file);
    return found;
}

int main(int argc, char **argv)
{
    int count = atoi(argv[1]);
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    if (argc > 2 && mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        return 3;
    pthread_create(&thread, &attr, sleeps, NULL);
    long mappings = lines_of("/proc/self/maps", NULL), locked = lines_of("/proc/self/status", "VmLck:");
    for (int i = 0; i < count; i++)
        if (pthread_create(&thread, &attr, sleeps, NULL) != 0)
            return 4;
    fprintf(stderr, "mappings %ld\nlocked %ld\n", lines_of("/proc/self/maps", NULL) - mappings,
            lines_of("/proc/self/status", "VmLck:") - locked);
    return 0;
}
