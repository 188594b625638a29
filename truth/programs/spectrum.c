/* A noisy signal: the mean of ten takes, block by block, transformed, its spectra smoothed by a median, and one long
 * autocorrelation. */
#include "truth_log.h"
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK = 1 << 13, HALF_WIDTH = 12, MAX_BLOCKS = 512 };

static float signal_of[MAX_BLOCKS][BLOCK];
static float power[MAX_BLOCKS][BLOCK], smooth[MAX_BLOCKS][BLOCK];
static uint32_t seed = 12345;

static float noise(void)
{
    float sum = 0;
    for (int i = 0; i < 12; i++) { /* nearly Gaussian */
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        sum += (float)seed * 0x1p-32f;
    }
    return sum - 6;
}

KEPT static void add_take(float *block, int start)
{
    for (int i = 0; i < BLOCK; i++) {
        int phase = (start + i) % 331;
        float triangle = (float)(phase < 166 ? phase : 331 - phase) / 166;
        block[i] += triangle / 10 + 0.03f * noise();
    }
}

KEPT static void transform_block(const float *block, float *spectrum)
{
    static float complex work[BLOCK];
    for (unsigned i = 0, reversed = 0; i < BLOCK; i++) {
        work[reversed] = block[i];
        for (unsigned bit = BLOCK / 2; (reversed ^= bit) < bit && bit > 0; bit /= 2)
            continue;
    }
    for (int half = 1; half < BLOCK; half *= 2)
        for (int k = 0; k < half; k++) {
            float complex twiddle = cexpf(-I * (float)M_PI * (float)k / (float)half);
            for (int i = k; i < BLOCK; i += 2 * half) {
                float complex a = work[i], b = work[i + half];
                float complex turned = CMPLXF(crealf(b) * crealf(twiddle) - cimagf(b) * cimagf(twiddle),
                                              crealf(b) * cimagf(twiddle) + cimagf(b) * crealf(twiddle));
                work[i] = a + turned;
                work[i + half] = a - turned;
            }
        }
    for (int i = 0; i < BLOCK; i++)
        spectrum[i] = crealf(work[i]) * crealf(work[i]) + cimagf(work[i]) * cimagf(work[i]);
}

/* The running median: the window stays sorted, one value goes out and one comes in. */
KEPT static void smooth_block(const float *in, float *out)
{
    enum { WIDTH = 2 * HALF_WIDTH + 1 };
    float window[WIDTH] = {0};
    for (int i = 0; i < BLOCK + HALF_WIDTH; i++) {
        float leaving = i >= WIDTH ? in[i - WIDTH] : 0, entering = i < BLOCK ? in[i] : 0;
        int at = 0;
        while (window[at] != leaving)
            at++;
        for (; at > 0 && window[at - 1] > entering; at--)
            window[at] = window[at - 1];
        for (; at < WIDTH - 1 && window[at + 1] < entering; at++)
            window[at] = window[at + 1];
        window[at] = entering;
        if (i >= HALF_WIDTH)
            out[i - HALF_WIDTH] = window[HALF_WIDTH];
    }
}

KEPT static int strongest_lag(const float *series, int length, int lags)
{
    int best = 0;
    float most = -1;
    for (int lag = 20; lag < lags; lag++) {
        float sum = 0;
        for (int i = 0; i + lag < length; i++)
            sum += (series[i] - 0.5f) * (series[i + lag] - 0.5f);
        if (sum > most) {
            most = sum;
            best = lag;
        }
    }
    return best;
}

int main(int argc, char **argv)
{
    double scale = scale_argument(argc, argv), sum = 0;
    int blocks = 2 + (int)(400 * scale);
    blocks = blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS;
    truth_phase("make");
    for (int take = 0; take < 10; take++)
        for (int i = 0; i < blocks; i++)
            add_take(signal_of[i], i * BLOCK);
    truth_phase("transform");
    for (int round = 0; round < 8; round++)
        for (int i = 0; i < blocks; i++)
            transform_block(signal_of[i], power[i]);
    truth_phase("smooth");
    for (int round = 0; round < 12; round++)
        for (int i = 0; i < blocks; i++)
            smooth_block(power[i], smooth[i]);
    truth_phase("correlate");
    int lag = strongest_lag(signal_of[0], blocks * BLOCK, 500);
    truth_end();
    for (int i = 0; i < blocks; i++)
        sum += smooth[i][100 + i];
    printf("spectrum: lag %d, smoothed power %.6g\n", lag, sum);
    return 0;
}
