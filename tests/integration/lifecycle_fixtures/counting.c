/* A preload library that counts getpid calls, and prints the count at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static int count;

pid_t getpid(void)
{
    pid_t (*next)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "getpid");
    count++;
    return next();
}

__attribute__((destructor)) static void say(void)
{
    printf("counted %d\n", count > 0);
}
