/* Energy counters below a simulated /sys. Argument: the machine. Prints what is taken, five times, and the number of
 * descriptors left open. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys.h"

static const char *machine;
static int opened, reads;
static char paths[64][96];

static int fake_open(const char *path)
{
    const char *zone = strrchr(path, ':') + 1, *file = strrchr(path, '/') + 1;
    int is_part = strchr(path, ':') != strrchr(path, ':'), number = atoi(zone), first = atoi(strchr(path, ':') + 1);
    int is_there = is_part ? first < 2 && number < 2 : number < 3;
    if (strcmp(machine, "none") == 0 || !is_there)
        return -ENOENT;
    if (strcmp(machine, "denied") == 0 && strcmp(file, "energy_uj") == 0)
        return -EACCES;
    if (strcmp(machine, "part") == 0 && strcmp(file, "energy_uj") == 0 && number == 1)
        return -EACCES;
    for (int fd = 10; fd < 64; fd++)
        if (paths[fd][0] == '\0') {
            strcpy(paths[fd], path);
            opened++;
            return fd;
        }
    return -EMFILE;
}

/* Zones 0 and 1 are packages with cores and memory, zone 2 is psys. Each read of a package is 3 J more, and of memory
 * 1 J; packages wrap at 10 J. */
static long fake_pread(int fd, char *into)
{
    static unsigned long grown[64];
    const char *path = paths[fd], *file = strrchr(path, '/') + 1, *zone = strrchr(path, ':') + 1;
    int is_part = strchr(path, ':') != strrchr(path, ':');
    if (strcmp(file, "name") == 0)
        return sprintf(into, "%s\n",
                       is_part           ? (atoi(zone) == 0 ? "core" : "dram")
                       : atoi(zone) == 2 ? "psys"
                                         : "package-0");
    if (strcmp(file, "max_energy_range_uj") == 0)
        return sprintf(into, "10000000\n");
    reads++;
    grown[fd] += is_part ? 1000000 : 3000000;
    return sprintf(into, "%lu\n", grown[fd] % 10000000);
}

static void fake_close(int fd)
{
    paths[fd][0] = '\0';
    opened--;
}

#undef SYS4
#define SYS4(number, fd, into, bytes, at) fake_pread(fd, into)
#define sys_close fake_close
#define sys_open(path, flags, mode) fake_open(path)
#include "energy.c"

int main(int count_of, char **words)
{
    machine = count_of > 1 ? words[1] : "";
    for (int i = 0; i < 5; i++) {
        uint64_t uj;
        bool is_known = energy_take(&uj);
        printf("%s%llu ", is_known ? "" : "-", is_known ? (unsigned long long)uj : 0);
    }
    energy_close();
    energy_close();
    printf("open %d\n", opened);
    return 0;
}
