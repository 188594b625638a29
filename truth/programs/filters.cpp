// Pictures go through a chain of filters, one filter over all pictures after the other: the same driver, by a virtual
// function, and instances of a template, so that only what is called behind the pointer tells the phases apart.
#include "truth_log.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

constexpr int SIDE = 160;
using Picture = std::vector<float>;

class Filter
{
  public:
    virtual ~Filter() = default;
    virtual void process(const Picture &in, Picture &out) const = 0;
};

template <int Radius> class Blur : public Filter
{
  public:
    KEPT void process(const Picture &in, Picture &out) const override
    {
        for (int y = Radius; y < SIDE - Radius; y++)
            for (int x = Radius; x < SIDE - Radius; x++) {
                float sum = 0;
                for (int dy = -Radius; dy <= Radius; dy++)
                    for (int dx = -Radius; dx <= Radius; dx++)
                        sum += in[(y + dy) * SIDE + x + dx] / (float)(1 + dx * dx + dy * dy);
                out[y * SIDE + x] = sum / (float)(Radius * Radius);
            }
    }
};

template <int Radius> class Median : public Filter
{
  public:
    KEPT void process(const Picture &in, Picture &out) const override
    {
        float window[(2 * Radius + 1) * (2 * Radius + 1)];
        for (int y = Radius; y < SIDE - Radius; y++)
            for (int x = Radius; x < SIDE - Radius; x++) {
                float *end = window;
                for (int dy = -Radius; dy <= Radius; dy++)
                    end = std::copy_n(&in[(y + dy) * SIDE + x - Radius], 2 * Radius + 1, end);
                std::nth_element(window, window + (end - window) / 2, end);
                out[y * SIDE + x] = window[(end - window) / 2];
            }
    }
};

class Contrast : public Filter
{
  public:
    explicit Contrast(float gamma) : gamma_(gamma) {}
    KEPT void process(const Picture &in, Picture &out) const override
    {
        for (size_t i = 0; i < in.size(); i++)
            out[i] = std::pow(std::fabs(in[i]) + 0.01f, gamma_) - 0.3f * std::exp(-in[i] * in[i]);
    }

  private:
    float gamma_;
};

// The driver of all phases.
KEPT static double apply(const Filter &filter, std::vector<Picture> &pictures, int rounds)
{
    Picture out(SIDE * SIDE);
    double sum = 0;
    for (int round = 0; round < rounds; round++)
        for (Picture &picture : pictures) {
            filter.process(picture, out);
            sum += out[SIDE * SIDE / 2 + round % SIDE];
        }
    for (Picture &picture : pictures)
        filter.process(Picture(picture), picture);
    return sum;
}

int main(int argc, char **argv)
{
    const double scale = scale_argument(argc, argv);
    const struct {
        const char *phase;
        std::unique_ptr<Filter> filter;
        int rounds;
    } chain[] = {{"blur", std::make_unique<Blur<3>>(), 120},
                 {"median", std::make_unique<Median<2>>(), 30},
                 {"contrast", std::make_unique<Contrast>(0.8f), 700}};
    std::vector<Picture> pictures(10, Picture(SIDE * SIDE));
    uint32_t seed = 1;
    double sum = 0;
    for (Picture &picture : pictures)
        for (float &pixel : picture) {
            seed = seed * 1664525u + 1013904223u;
            pixel = (float)(seed >> 8) * 0x1p-24f;
        }
    for (const auto &stage : chain) {
        truth_phase(stage.phase);
        sum += apply(*stage.filter, pictures, 1 + (int)(stage.rounds * scale));
    }
    truth_end();
    printf("filters: %.6f\n", sum);
    return 0;
}
