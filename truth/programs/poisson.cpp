// Poisson's equation on a disc, by finite elements: set-up (mesh), assembly, solution by conjugate gradients, output.
#include "truth_log.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

using Vector = std::vector<double>;

struct Mesh {
    std::vector<std::array<double, 2>> node;
    std::vector<std::array<int, 3>> triangle;
};

struct Matrix { // compressed rows
    std::vector<size_t> start{0};
    std::vector<int> column;
    Vector value;
};

// One ring of nodes and its triangles; the radius by Newton's iteration, so that all rings have the same area.
KEPT static void add_ring(Mesh &mesh, int ring, int rings, int spokes)
{
    for (int k = 0; k < spokes; k++) {
        double angle = 2 * M_PI * (k + 0.5 * (ring % 2)) / spokes, r = 1;
        for (int i = 0; i < 500; i++)
            r = 0.5 * (r + (ring + 0.3 + 0.01 * std::sin(3 * angle)) / (rings * r));
        mesh.node.push_back({r * std::cos(angle), r * std::sin(angle)});
        if (ring > 0) {
            int here = ring * spokes + k, next = ring * spokes + (k + 1) % spokes;
            mesh.triangle.push_back({here, next, here - spokes});
            mesh.triangle.push_back({next, next - spokes, here - spokes});
        }
    }
}

using Rows = std::vector<std::map<int, double>>;

KEPT static void add_element(const Mesh &mesh, const std::array<int, 3> &t, Rows &rows, Vector &load)
{
    const auto &a = mesh.node[t[0]], &b = mesh.node[t[1]], &c = mesh.node[t[2]];
    double area = 0.5 * std::fabs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])) + 1e-12;
    for (int i = 0; i < 3; i++) {
        const auto &i1 = mesh.node[t[(i + 1) % 3]], &i2 = mesh.node[t[(i + 2) % 3]];
        for (int j = 0; j < 3; j++) {
            const auto &j1 = mesh.node[t[(j + 1) % 3]], &j2 = mesh.node[t[(j + 2) % 3]];
            rows[t[i]][t[j]] += ((i2[0] - i1[0]) * (j2[0] - j1[0]) + (i2[1] - i1[1]) * (j2[1] - j1[1])) / (4 * area);
        }
        rows[t[i]][t[i]] += 0.01 * area;
        load[t[i]] += area / 3;
    }
}

KEPT static Matrix assemble(const Mesh &mesh, Vector &load)
{
    Rows rows(mesh.node.size());
    Matrix matrix;
    for (const auto &triangle : mesh.triangle)
        add_element(mesh, triangle, rows, load);
    for (auto &row : rows) {
        for (auto &entry : row) {
            matrix.column.push_back(entry.first);
            matrix.value.push_back(entry.second);
        }
        matrix.start.push_back(matrix.column.size());
        row.clear();
    }
    return matrix;
}

KEPT static void multiply(const Matrix &matrix, const Vector &x, Vector &y)
{
    for (size_t i = 0; i < y.size(); i++) {
        double sum = 0;
        for (size_t k = matrix.start[i]; k < matrix.start[i + 1]; k++)
            sum += matrix.value[k] * x[matrix.column[k]];
        y[i] = sum;
    }
}

KEPT static double dot(const Vector &x, const Vector &y)
{
    double sum = 0;
    for (size_t i = 0; i < x.size(); i++)
        sum += x[i] * y[i];
    return sum;
}

KEPT static void add_scaled(Vector &y, double factor, const Vector &x)
{
    for (size_t i = 0; i < x.size(); i++)
        y[i] += factor * x[i];
}

KEPT static double solve(const Matrix &matrix, const Vector &load, Vector &x, int iterations)
{
    Vector r = load, p = load, ap(load.size());
    double rr = dot(r, r);
    for (int i = 0; i < iterations && rr > 1e-30; i++) {
        multiply(matrix, p, ap);
        double step = rr / dot(p, ap), before = rr;
        add_scaled(x, step, p);
        add_scaled(r, -step, ap);
        rr = dot(r, r);
        for (size_t k = 0; k < p.size(); k++)
            p[k] = r[k] + rr / before * p[k];
    }
    return rr;
}

KEPT static unsigned print_node(const std::array<double, 2> &at, double value)
{
    char text[96];
    unsigned sum = 0;
    snprintf(text, sizeof text, "%.9e %.9e %.12e\n", at[0], at[1], value);
    for (const char *c = text; *c; c++)
        sum = sum * 31 + (unsigned char)*c;
    return sum;
}

int main(int argc, char **argv)
{
    const double scale = scale_argument(argc, argv);
    const int spokes = 900, rings = 3 + (int)(500 * scale);
    Mesh mesh;
    truth_phase("setup");
    for (int ring = 0; ring < rings; ring++)
        add_ring(mesh, ring, rings, spokes);
    Vector load(mesh.node.size()), x(mesh.node.size());
    truth_phase("assembly");
    Matrix matrix = assemble(mesh, load);
    truth_phase("solve");
    double residual = solve(matrix, load, x, 500);
    truth_phase("output");
    unsigned sum = 0;
    for (size_t i = 0; i < 3 * x.size(); i++) // three copies
        sum += print_node(mesh.node[i % x.size()], x[i % x.size()]);
    truth_end();
    printf("poisson: residual %.3e, output %08x\n", residual, sum);
    return 0;
}
