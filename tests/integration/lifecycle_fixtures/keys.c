/* A key of the application's is its own, also where there is no memory for a record of the main thread. */
#include "host.h"

static pthread_key_t key;

static void *look(void *unused)
{
    printf("in a new thread %d\n", pthread_getspecific(key) == NULL);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_key_create(&key, free);
    if (pthread_create(&thread, NULL, look, NULL) != 0)
        return 2;
    pthread_join(thread, NULL);
    return 0;
}
