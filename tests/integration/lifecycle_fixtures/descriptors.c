/* The program's table of descriptors, with and without perf's clock. */
#define _GNU_SOURCE
#include "host.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>

static int open_now(void)
{
    int count = 0;
    DIR *listing = opendir("/proc/self/fd");
    while (readdir(listing) != NULL)
        count++;
    closedir(listing);
    return count;
}

int main(void)
{
    work(77);
    burn(80);
    printf("open %d\n", open_now());
    closefrom(3);
    burn(80);
    /* Files of its own wherever a descriptor of another owner may have been. */
    int file = open("/proc/self/exe", O_RDONLY), high = fcntl(file, F_DUPFD, 512);
    fflush(stdout);
    if (fork() == 0) {
        char byte = 0;
        printf("child reads %d %d\n", read(file, &byte, 1) == 1, read(high, &byte, 1) == 1);
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    burn(80);
    return 0;
}
