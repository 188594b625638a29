// Roads in hilly country: generated, linked into a graph, shortest ways searched from several towns, the answers
// validated.
#include "truth_log.h"
#include <cmath>
#include <cstdint>
#include <queue>
#include <vector>

constexpr int SIDE = 400, TOWNS = SIDE * SIDE;

struct Road {
    int a, b;
    float length;
};
struct Graph {
    std::vector<int> first;
    std::vector<Road> out; // a is where it starts
};

static uint32_t seed = 3;

static float uniform()
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) * 0x1p-24f;
}

static float height(float x, float y)
{
    float sum = 0;
    for (int octave = 1; octave < 32; octave *= 2)
        sum += std::sin(0.03f * (float)octave * x + y / 50) * std::cos(0.04f * (float)octave * y) / (float)octave;
    return 20 * sum;
}

KEPT static void generate_row(int row, std::vector<Road> &roads)
{
    for (int column = 0; column < SIDE; column++)
        for (int k = 0; k < 4; k++) {
            int r = row + (k < 3), c = column + (k == 3 ? 1 : k - 1);
            if (r >= SIDE || c < 0 || c >= SIDE || uniform() < 0.2f)
                continue;
            float climb = height((float)row, (float)column) - height((float)r, (float)c);
            roads.push_back({row * SIDE + column, r * SIDE + c, 1 + uniform() + std::fabs(climb)});
        }
}

// One long call: both directions of every road, in order of where they start.
KEPT static Graph link_graph(const std::vector<Road> &roads, int rounds)
{
    Graph graph;
    for (int round = 0; round < rounds; round++) {
        graph.first.assign(TOWNS + 1, 0);
        graph.out.resize(2 * roads.size());
        for (const Road &road : roads) {
            graph.first[road.a]++;
            graph.first[road.b]++;
        }
        for (int town = 1; town <= TOWNS; town++)
            graph.first[town] += graph.first[town - 1];
        for (const Road &road : roads) {
            graph.out[--graph.first[road.a]] = road;
            graph.out[--graph.first[road.b]] = {road.b, road.a, road.length};
        }
    }
    return graph;
}

KEPT static std::vector<float> search(const Graph &graph, int start)
{
    using Entry = std::pair<float, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> open;
    std::vector<float> distance(TOWNS, 1e9f);
    distance[start] = 0;
    open.push({0, start});
    while (!open.empty()) {
        Entry next = open.top();
        open.pop();
        if (next.first > distance[next.second])
            continue;
        for (int k = graph.first[next.second]; k < graph.first[next.second + 1]; k++) {
            const Road &road = graph.out[k];
            if (next.first + road.length < distance[road.b]) {
                distance[road.b] = next.first + road.length;
                open.push({distance[road.b], road.b});
            }
        }
    }
    return distance;
}

// No road is a short cut, and every town but the start has a last road that explains its distance.
KEPT static int validate(const Graph &graph, const std::vector<float> &distance)
{
    int explained = 0;
    for (int town = 0; town < TOWNS; town++)
        for (int k = graph.first[town]; k < graph.first[town + 1]; k++) {
            const Road &road = graph.out[k];
            float slack = distance[road.a] + road.length - distance[road.b];
            explained += slack < -1e-3f ? -1000000 : std::fabs(slack) <= 1e-6f * distance[road.b];
        }
    return explained;
}

int main(int argc, char **argv)
{
    const double scale = scale_argument(argc, argv);
    std::vector<Road> roads;
    std::vector<std::vector<float>> distances;
    long explained = 0;
    const int rounds = 1 + (int)(14 * scale);
    truth_phase("generate");
    for (int row = 0; row < rounds * SIDE; row++) {
        if (row % SIDE == 0)
            roads.clear();
        generate_row(row % SIDE, roads);
    }
    truth_phase("link");
    Graph graph = link_graph(roads, 16 * rounds);
    truth_phase("search");
    for (int i = 0; i < 3 * rounds; i++)
        distances.push_back(search(graph, (int)((long)i * 7919 % TOWNS)));
    truth_phase("validate");
    for (int i = 0; i < 40 * rounds; i++)
        explained += validate(graph, distances[i % distances.size()]);
    truth_end();
    printf("roads: %zu roads, %ld ways explained\n", roads.size(), explained);
    return 0;
}
