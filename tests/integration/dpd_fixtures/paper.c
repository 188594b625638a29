/* The paper's two functions on the stream of its table 1, then with other windows. Prints sample, period, start. */
#include <dpd.h>
#include <pthread.h>
#include <stdio.h>

static const long table[] = {1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7, 9, 9};

static void *elsewhere(void *unused)
{
    int period, longest = 0;
    (void)unused;
    DPDWindowSize(600);
    for (int i = 0; i < 1200; i++) {
        DPD(i % 500, &period);
        longest = period > longest ? period : longest;
    }
    printf("thread %d\n", longest);
    return NULL;
}

/* The longest period in 300 samples of a loop of `length`. */
static int longest_of(int length)
{
    int period, longest = 0;
    for (int i = 0; i < 300; i++) {
        DPD(1000 + i % length, &period);
        longest = period > longest ? period : longest;
    }
    return longest;
}

int main(void)
{
    pthread_t thread;
    for (int i = 0; i < (int)(sizeof table / sizeof *table); i++) {
        int period, start = DPD(table[i], &period);
        printf("%ld %d %d\n", table[i], period, start);
        if (i == 14) { /* in the middle of it all: another thread has a detector of its own */
            pthread_create(&thread, NULL, elsewhere, NULL);
            pthread_join(thread, NULL);
        }
    }
    printf("default %d %d\n", longest_of(99), longest_of(110));
    DPDWindowSize(111);
    printf("larger %d\n", longest_of(110));
    DPDWindowSize(20);
    printf("smaller %d %d\n", longest_of(19), longest_of(20));
    DPDWindowSize(1);
    DPDWindowSize(1 << 30);
    printf("ignored %d\n", longest_of(18));
    return 0;
}
