// Heartbeats of a threaded program (about 3 s; the argument scales that, as in `heartbeats-cpp 0.1`).
// Four workers, each with a block of a grid, go through N = max(1, 1200 * argument) steps. Beats:
//   1 step     4 N         all of a step, with the two below in it
//   2 smooth   4 N         most of a step
//   3 norm     4 ceil(N/10)  every tenth step; leaves by return or by exception
//   4 update   1 pulse per step and worker
// Build and run:
//   g++ -O2 -pthread $(incprof env --cflags) heartbeats.cpp $(incprof env --libs) -o heartbeats-cpp
//   EKG_DIR=ekg ./heartbeats-cpp && incprof heartbeats ekg
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include <appekg.h>

enum Beat : uint32_t { STEP = 1, SMOOTH, NORM, UPDATE };

constexpr int WORKERS = 4, WIDTH = 400;

class Block
{
  public:
    explicit Block(int number) : cells(WIDTH * WIDTH), next(WIDTH * WIDTH)
    {
        for (std::size_t i = 0; i < cells.size(); i++)
            cells[i] = std::sin(0.01 * double(i) + number);
    }

    void smooth()
    {
        EKG_SCOPE(SMOOTH);
        for (int sweep = 0; sweep < 8; sweep++) {
            for (std::size_t i = WIDTH; i < cells.size() - WIDTH; i++)
                next[i] = 0.25 * (cells[i - 1] + cells[i + 1] + cells[i - WIDTH] + cells[i + WIDTH]);
            cells.swap(next);
        }
    }

    // However it is left, its beat ends here.
    double norm(int step)
    {
        EKG_SCOPE(NORM);
        double sum = 0;
        for (double cell : cells)
            sum += cell * cell;
        if (step % 20 == 0)
            throw std::range_error("looked at, and accepted");
        return std::sqrt(sum);
    }

  private:
    std::vector<double> cells, next;
};

static void work(int number, int steps, double &result)
{
    Block block(number);
    for (int step = 0; step < steps; step++) {
        EKG_SCOPE(STEP);
        block.smooth();
        try {
            if (step % 10 == 0)
                result = block.norm(step);
        } catch (const std::range_error &) {
            result = 1;
        }
        ekg_pulse(UPDATE);
    }
}

int main(int argc, char **argv)
{
    const int steps = std::max(1, int(1200 * (argc > 1 ? std::atof(argv[1]) : 1.0)));
    ekg_name(STEP, "step");
    ekg_name(SMOOTH, "smooth");
    ekg_name(NORM, "norm");
    ekg_name(UPDATE, "update");

    std::vector<double> results(WORKERS);
    std::vector<std::thread> workers;
    for (int i = 0; i < WORKERS; i++)
        workers.emplace_back(work, i, steps, std::ref(results[std::size_t(i)]));
    for (std::thread &worker : workers)
        worker.join();
    std::printf("%d steps, norm of the first block %.6f\n", steps, results[0]);
}
