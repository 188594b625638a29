// A perceptron with one hidden layer learns to tell stripes from rings. Every epoch the pictures are distorted anew,
// the network is trained on them in batches, and evaluated on others; training and evaluation share the forward pass.
#include "truth_log.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

constexpr int SIDE = 20, PIXELS = SIDE * SIDE, HIDDEN = 48, BATCH = 50;
using Picture = std::vector<float>;

static uint64_t seed = 88172645463325252u;

static float uniform()
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (float)(seed >> 40) * 0x1p-24f;
}

class Network
{
  public:
    Network() : weights_(HIDDEN * PIXELS), out_(HIDDEN)
    {
        std::generate(weights_.begin(), weights_.end(), [] { return 0.1f * (uniform() - 0.5f); });
        std::generate(out_.begin(), out_.end(), [] { return uniform() - 0.5f; });
    }

    KEPT void train(const Picture *pictures, const int *is_ring)
    {
        for (int b = 0; b < BATCH; b++) {
            float error = (float)is_ring[b] - forward(pictures[b]);
            for (int h = 0; h < HIDDEN; h++) {
                float slope = 0.01f * error * out_[h] * (1 - hidden_[h] * hidden_[h]);
                out_[h] += 0.01f * error * hidden_[h];
                for (int p = 0; p < PIXELS; p++)
                    weights_[h * PIXELS + p] += slope * pictures[b][p];
            }
        }
    }

    KEPT int evaluate(const Picture *pictures, const int *is_ring)
    {
        int right = 0;
        for (int b = 0; b < BATCH; b++)
            right += (forward(pictures[b]) > 0.5f) == is_ring[b];
        return right;
    }

  private:
    KEPT float forward(const Picture &picture)
    {
        float answer = 0.5f;
        for (int h = 0; h < HIDDEN; h++) {
            float sum = 0;
            for (int p = 0; p < PIXELS; p++)
                sum += weights_[h * PIXELS + p] * picture[p];
            hidden_[h] = std::tanh(sum);
            answer += out_[h] * hidden_[h];
        }
        return answer;
    }

    std::vector<float> weights_, out_;
    float hidden_[HIDDEN];
};

// Stripes or rings of a random width, seen through a random lens.
KEPT static void distort(Picture &picture, int is_ring)
{
    float bend = 0.3f * uniform(), width = 0.8f + uniform(), shift = 6.3f * uniform();
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            float sum = 0;
            for (int sample = 0; sample < 3; sample++) { // within the pixel
                float u = (float)x - SIDE / 2 + uniform(), v = (float)y - SIDE / 2 + uniform();
                float bent = u + bend * std::sin(0.5f * v + shift);
                float at = is_ring ? std::sqrt(bent * bent + v * v) : bent;
                sum += std::cos(width * at + shift);
            }
            picture[y * SIDE + x] = sum / 3;
        }
}

int main(int argc, char **argv)
{
    const int batches = 2 + (int)(600 * scale_argument(argc, argv)), pictures = batches * BATCH;
    std::vector<Picture> picture(pictures, Picture(PIXELS));
    std::vector<int> is_ring(pictures);
    Network network;
    int right = 0;
    for (int i = 0; i < pictures; i++)
        is_ring[i] = i * 7 % 2;
    for (int epoch = 0; epoch < 3; epoch++) {
        truth_phase("distort");
        for (int i = 0; i < pictures; i++)
            distort(picture[i], is_ring[i]);
        truth_phase("train");
        for (int b = 0; b < batches; b++)
            network.train(&picture[b * BATCH], &is_ring[b * BATCH]);
        truth_phase("evaluate");
        right = 0;
        for (int b = 0; b < batches; b++)
            right += network.evaluate(&picture[b * BATCH], &is_ring[b * BATCH]);
        truth_end();
    }
    printf("perceptron: %d of %d right\n", right, pictures);
    return 0;
}
