// A cloth falls on a ball: springs between points, some milliseconds per time step. The spring forces are inlined into
// the time loop; gathering, collision and the motion are functions.
#include "truth_log.h"
#include <algorithm>
#include <cmath>
#include <vector>

struct Vec {
    float x = 0, y = 0, z = 0;
};
static inline Vec operator+(Vec a, Vec b)
{
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
static inline Vec operator-(Vec a, Vec b)
{
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
static inline Vec operator*(float s, Vec a)
{
    return {s * a.x, s * a.y, s * a.z};
}
static inline float length(Vec a)
{
    return std::sqrt(a.x * a.x + a.y * a.y + a.z * a.z);
}

constexpr int SIDE = 280, POINTS = SIDE * SIDE;

struct Spring {
    int a, b;
    float rest;
};

struct Cloth {
    std::vector<Vec> at, velocity, force;
    std::vector<Spring> springs;
    float highest = 0;
};

KEPT static void weave_row(Cloth &cloth, int row)
{
    static const int offsets[][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}, {2, 0}, {0, 2}};
    for (int column = 0; column < SIDE; column++) {
        float u = (float)column / SIDE - 0.5f, v = (float)row / SIDE - 0.5f, crease = 0;
        for (int wave = 1; wave < 2000; wave++)
            crease += std::sin((float)wave * u) * std::cos((float)wave * v) / (float)(wave * wave);
        cloth.at[row * SIDE + column] = {u, v, 0.62f + 0.01f * crease};
        for (const auto &o : offsets)
            if (row + o[0] < SIDE && column + o[1] >= 0 && column + o[1] < SIDE)
                cloth.springs.push_back({row * SIDE + column, (row + o[0]) * SIDE + column + o[1],
                                         std::hypot((float)o[0], (float)o[1]) / SIDE});
    }
}

KEPT static void clear_forces(Cloth &cloth)
{
    for (int i = 0; i < POINTS; i++) {
        const Vec &v = cloth.velocity[i];
        float gust = 0.2f * std::sin(9 * cloth.at[i].x) * std::cos(7 * cloth.at[i].y);
        cloth.force[i] = Vec{gust, 0, -1} - (0.8f + 2 * length(v)) * v; // weight, wind and drag
    }
}

// Inlined on purpose: where most of the time goes, and no call to be seen.
[[gnu::always_inline]] static inline void pull_springs(Cloth &cloth)
{
    for (const Spring &s : cloth.springs) {
        Vec d = cloth.at[s.b] - cloth.at[s.a];
        float now = length(d), pull = 900 * (now - s.rest) / (now + 1e-6f);
        cloth.force[s.a] = cloth.force[s.a] + pull * d;
        cloth.force[s.b] = cloth.force[s.b] - pull * d;
    }
}

KEPT static void move_points(Cloth &cloth, float dt)
{
    cloth.highest = -10;
    for (int i = 0; i < POINTS; i++) {
        cloth.velocity[i] = cloth.velocity[i] + dt * cloth.force[i];
        cloth.at[i] = cloth.at[i] + dt * cloth.velocity[i];
        cloth.highest = std::max(cloth.highest, cloth.at[i].z);
    }
}

// The ball is bumpy: the distance to its surface takes a few iterations.
KEPT static void collide(Cloth &cloth)
{
    for (int i = 0; i < POINTS; i++) {
        Vec &p = cloth.at[i];
        float out = length(p), radius = 0.5f;
        for (int k = 0; k < 3; k++)
            radius = 0.5f + 0.01f * std::sin(20 * p.x + radius) * std::sin(20 * p.y);
        if (out < radius) {
            p = (radius / out) * p;
            cloth.velocity[i] = 0.5f * cloth.velocity[i];
        }
    }
}

int main(int argc, char **argv)
{
    const double scale = scale_argument(argc, argv);
    Cloth cloth;
    cloth.at.resize(POINTS);
    cloth.velocity.resize(POINTS);
    cloth.force.resize(POINTS);
    truth_phase("weave");
    const int rows = scale < 1 ? 1 + (int)(scale * SIDE) : SIDE;
    for (int row = 0; row < rows; row++)
        weave_row(cloth, row);
    truth_phase("fall");
    for (int step = 0; step < 1 + (int)(600 * scale); step++) {
        clear_forces(cloth);
        pull_springs(cloth);
        move_points(cloth, 0.001f);
        collide(cloth);
    }
    truth_end();
    printf("cloth: highest point %.5f, %zu springs\n", cloth.highest, cloth.springs.size());
    return 0;
}
