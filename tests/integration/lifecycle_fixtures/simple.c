/* 500 calls of tick, argv[1] ms of CPU time, and INTERVALS; prints the number of its tasks, or argv[2] MB of text. */
#include "host.h"

#include <dirent.h>

static int task_count(void)
{
    DIR *directory = opendir("/proc/self/task");
    struct dirent *entry;
    int count = 0;
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        count += entry->d_name[0] != '.';
    return count;
}

int main(int argc, char **argv)
{
    int milliseconds = argc > 1 ? atoi(argv[1]) : 60;
    int megabytes = argc > 2 ? atoi(argv[2]) : 0;
    work(500);
    for (int i = 0; i < milliseconds; i += 20)
        burn(20);
    burn_until_recorded();
    for (long line = 0; line < megabytes * 1024L * 16; line++)
        printf("%063ld\n", line);
    if (getenv("SHOW_TASKS") != NULL)
        fprintf(stderr, "tasks %d\n", task_count());
    return 3;
}
