/* Three phases on two threads: both simulate, then one simulates on while the other analyses, then both analyse.
 * The main thread hands out the work and waits. */
#include "truth_log.h"
#include <math.h>
#include <pthread.h>
#include <stdint.h>

enum { WALKERS = 4096, BINS = 128 };

struct part {
    pthread_t thread;
    int simulations, analyses;
    float at[WALKERS][2];
    long bin[BINS];
    double spread;
    uint32_t seed;
};

static struct part part[2];

static float random_turn(struct part *p)
{
    p->seed ^= p->seed << 13;
    p->seed ^= p->seed >> 17;
    p->seed ^= p->seed << 5;
    return 6.2831853f * (float)(p->seed >> 8) * 0x1p-24f;
}

/* Walkers in a bowl. */
KEPT static void simulate(struct part *p)
{
    for (int w = 0; w < WALKERS; w++)
        for (int step = 0; step < 8; step++) {
            float turn = random_turn(p);
            p->at[w][0] += 0.1f * cosf(turn) - 0.01f * p->at[w][0];
            p->at[w][1] += 0.1f * sinf(turn) - 0.01f * p->at[w][1];
        }
}

/* How far from each other they are. */
KEPT static void analyse(struct part *p)
{
    for (int w = 0; w < WALKERS; w += 8)
        for (int other = 0; other < w; other++) {
            float dx = p->at[w][0] - p->at[other][0], dy = p->at[w][1] - p->at[other][1];
            float distance = sqrtf(dx * dx + dy * dy);
            p->bin[(int)(distance * 20) % BINS]++;
            p->spread += 1e-9 * distance;
        }
}

static void *work(void *argument)
{
    struct part *p = argument;
    for (int i = 0; i < p->simulations; i++)
        simulate(p);
    for (int i = 0; i < p->analyses; i++)
        analyse(p);
    return NULL;
}

static void work_together(const char *phase, const int simulations[2], const int analyses[2], double scale)
{
    truth_phase(phase);
    for (int i = 0; i < 2; i++) {
        part[i].simulations = (int)ceil(simulations[i] * scale);
        part[i].analyses = (int)ceil(analyses[i] * scale);
        if (pthread_create(&part[i].thread, NULL, work, &part[i]) != 0)
            exit(1);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(part[i].thread, NULL);
    truth_end();
}

int main(int argc, char **argv)
{
    double scale = scale_argument(argc, argv);
    part[0].seed = 11;
    part[1].seed = 22;
    work_together("simulate", (int[]){2600, 2600}, (int[]){0, 0}, scale);
    work_together("both", (int[]){2600, 0}, (int[]){0, 600}, scale);
    work_together("analyse", (int[]){0, 0}, (int[]){600, 600}, scale);
    printf("pairs: %ld %ld, spread %.6f\n", part[0].bin[20], part[1].bin[20], part[0].spread + part[1].spread);
    return 0;
}
