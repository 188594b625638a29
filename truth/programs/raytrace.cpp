// Balls over a floor: first the light that reaches each of many probes is gathered, then the picture is rendered, tile
// by tile. Both go through the same small functions: vectors, hits, shades.
#include "truth_log.h"
#include <cmath>
#include <cstdint>
#include <vector>

constexpr int SIDE = 256, TILE = 16, PROBES = 12;

struct Vec {
    double x = 0, y = 0, z = 0;
};
KEPT static Vec add(Vec a, Vec b)
{
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
KEPT static Vec scaled(double s, Vec a)
{
    return {s * a.x, s * a.y, s * a.z};
}
KEPT static double dot(Vec a, Vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static Vec unit(Vec a)
{
    return scaled(1 / std::sqrt(dot(a, a)), a);
}

struct Ball {
    Vec centre;
    double radius = 0;
};
struct Hit {
    double distance = 1e9;
    Vec at, normal;
};

static std::vector<Ball> balls;
static double ambient[PROBES][PROBES];
static uint32_t seed = 7;

static double uniform()
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) * 0x1p-24;
}

KEPT static double ball_distance(const Ball &ball, Vec from, Vec direction)
{
    Vec to = add(ball.centre, scaled(-1, from));
    double along = dot(to, direction), inside = ball.radius * ball.radius - dot(to, to) + along * along;
    return inside < 0 || along < std::sqrt(inside) + 1e-6 ? 1e9 : along - std::sqrt(inside);
}

KEPT static Hit first_hit(Vec from, Vec direction)
{
    Hit hit;
    if (direction.y < -1e-9) {
        hit.distance = -from.y / direction.y;
        hit.normal = {0, 1, 0};
    }
    for (const Ball &ball : balls) {
        double distance = ball_distance(ball, from, direction);
        if (distance < hit.distance) {
            hit.distance = distance;
            hit.normal = scaled(1 / ball.radius, add(add(from, scaled(distance, direction)), scaled(-1, ball.centre)));
        }
    }
    hit.at = add(add(from, scaled(hit.distance, direction)), scaled(1e-6, hit.normal));
    return hit;
}

// How much sky a place of the floor sees.
KEPT static double gather_probe(double x, double z, int rays)
{
    int open = 0;
    for (int i = 0; i < rays; i++) {
        Vec direction = unit({uniform() - 0.5, 0.01 + uniform(), uniform() - 0.5});
        open += first_hit({x, 1e-6, z}, direction).distance > 1e8;
    }
    return (double)open / rays;
}

KEPT static double shade(Vec from, Vec direction, int depth)
{
    Hit hit = first_hit(from, direction);
    if (hit.distance > 1e8)
        return 0.5 + 0.5 * direction.y;
    Vec light = unit({0.5, 1, -0.3});
    int px = (int)(std::fabs(hit.at.x) * 2) % PROBES, pz = (int)(std::fabs(hit.at.z) * 2) % PROBES;
    double bright = 0.4 * ambient[px][pz];
    if (dot(light, hit.normal) > 0 && first_hit(hit.at, light).distance > 1e8)
        bright += 0.6 * dot(light, hit.normal);
    if (depth > 0)
        bright = 0.7 * bright +
                 0.3 * shade(hit.at, add(direction, scaled(-2 * dot(direction, hit.normal), hit.normal)), depth - 1);
    return bright;
}

KEPT static double render_tile(int left, int top, double turn)
{
    double sum = 0;
    for (int y = top; y < top + TILE; y++)
        for (int x = left; x < left + TILE; x++)
            sum += shade({turn, 1.5, -5}, unit({(x - SIDE / 2.0) / SIDE, (SIDE / 2.0 - y) / SIDE, 1}), 2);
    return sum;
}

int main(int argc, char **argv)
{
    const double scale = scale_argument(argc, argv);
    double light = 0;
    for (int i = 0; i < 24; i++)
        balls.push_back({{4 * uniform() - 2, 0.3 + uniform(), 4 * uniform()}, 0.1 + 0.25 * uniform()});
    truth_phase("gather");
    for (int i = 0; i < PROBES * PROBES; i++)
        ambient[i / PROBES][i % PROBES] = gather_probe(i / PROBES * 0.5, i % PROBES * 0.5, 1 + (int)(14000 * scale));
    truth_phase("render");
    for (int picture = 0; picture < 1 + (int)(8 * scale); picture++)
        for (int tile = 0; tile < SIDE * SIDE / TILE / TILE; tile++)
            light += render_tile(tile % (SIDE / TILE) * TILE, tile / (SIDE / TILE) * TILE, 0.1 * picture);
    truth_end();
    printf("raytrace: light %.6f\n", light);
    return 0;
}
