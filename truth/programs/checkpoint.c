/* A reaction in a dish, with checkpoints: steps of computation, then the state is written and synced to disk, three
 * times; at the end every checkpoint is read back and checked. Writing waits for the disk and hardly computes. */
#include "truth_log.h"
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 512, PIECES = 16 };

static float u[SIZE][SIZE], v[SIZE][SIZE], next_u[SIZE][SIZE], next_v[SIZE][SIZE];

static float around(float (*field)[SIZE], int i, int j)
{
    return field[i - 1][j] + field[i + 1][j] + field[i][j - 1] + field[i][j + 1] - 4 * field[i][j];
}

KEPT static void react(void)
{
    for (int i = 1; i < SIZE - 1; i++)
        for (int j = 1; j < SIZE - 1; j++) {
            float reaction = u[i][j] * v[i][j] * v[i][j];
            next_u[i][j] = u[i][j] + 0.16f * around(u, i, j) - reaction + 0.035f * (1 - u[i][j]);
            next_v[i][j] = v[i][j] + 0.08f * around(v, i, j) + reaction - 0.1f * v[i][j] + 1e-9f;
        }
    memcpy(u, next_u, sizeof u);
    memcpy(v, next_v, sizeof v);
}

/* In pieces, each of them synced, and with pauses, so that others get at the disk. */
KEPT static int write_checkpoint(const char *path)
{
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600), failed = file < 0;
    for (int i = 0; i < PIECES && !failed; i++) {
        size_t piece = sizeof u / PIECES;
        failed = write(file, (char *)u + (size_t)i * piece, piece) != (ssize_t)piece || fsync(file) != 0;
        nanosleep(&(struct timespec){.tv_nsec = 4000000}, NULL);
    }
    close(file);
    return failed;
}

KEPT static unsigned check_checkpoint(const char *path)
{
    static unsigned char buffer[1 << 14];
    unsigned low = 1, high = 0;
    int file = open(path, O_RDONLY);
    for (ssize_t got; file >= 0 && (got = read(file, buffer, sizeof buffer)) > 0;)
        for (ssize_t i = 0; i < got; i++) {
            low = (low + buffer[i]) % 65521;
            high = (high + low) % 65521;
        }
    close(file);
    return high << 16 | low;
}

int main(int argc, char **argv)
{
    double scale = scale_argument(argc, argv);
    char path[64];
    unsigned sum = 0;
    snprintf(path, sizeof path, "checkpoint-%d.tmp", (int)getpid());
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            int seeded = (i - SIZE / 2) * (i - SIZE / 2) + (j - SIZE / 2) * (j - SIZE / 2) < 900;
            u[i][j] = next_u[i][j] = seeded ? 0.5f : 1;
            v[i][j] = next_v[i][j] = seeded ? 0.25f : 0;
        }
    for (int cycle = 0; cycle < 3; cycle++) {
        truth_phase("react");
        for (int step = 0; step < 1 + (int)(150 * scale); step++)
            react();
        truth_phase("write");
        for (int copy = 0; copy < 1 + (int)(15 * scale); copy++)
            if (write_checkpoint(path) != 0)
                return 1;
    }
    truth_phase("check");
    for (int round = 0; round < 1 + (int)(400 * scale); round++)
        sum += check_checkpoint(path);
    truth_end();
    unlink(path);
    printf("checkpoint: %08x\n", sum);
    return 0;
}
