// Three phases, repeated in cycles (about 10 s; the argument scales that, as in `mesh 0.1`):
//   refine   Mesh<T>::refine     split the elements with the largest estimate (vectors, sorting)
//   solve    Element::flux       virtual calls: two kinds of elements, many sweeps
//   project  project<Norm>       templates: the same loop under two norms
// The result is the same on every run.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

struct Element {
    double left, right, value = 1.0;
    Element(double l, double r) : left(l), right(r) {}
    virtual ~Element() = default;
    virtual double flux(double x) const = 0;
    double width() const
    {
        return right - left;
    }
};

struct Linear : Element {
    using Element::Element;
    __attribute__((noinline)) double flux(double x) const override
    {
        return value * (x - left) / width();
    }
};

struct Quadratic : Element {
    using Element::Element;
    __attribute__((noinline)) double flux(double x) const override
    {
        double t = (x - left) / width();
        return value * t * t + 0.5 * std::sqrt(t + 1.0);
    }
};

template <typename Keep> struct Mesh {
    std::vector<std::unique_ptr<Element>> elements;

    void refine(std::size_t most)
    {
        std::sort(elements.begin(), elements.end(),
                  [](const auto &a, const auto &b) { return a->width() > b->width(); });
        std::size_t count = elements.size();
        for (std::size_t i = 0; i < (count + 1) / 2 && elements.size() < most; i++) {
            double middle = 0.5 * (elements[i]->left + elements[i]->right), right = elements[i]->right;
            elements[i]->right = middle;
            elements.push_back(std::make_unique<Keep>(middle, right));
        }
    }

    __attribute__((noinline)) double sweep()
    {
        double sum = 0;
        for (auto &element : elements) {
            for (int i = 1; i <= 8; i++)
                sum += element->flux(element->left + element->width() * i / 8);
            element->value = 0.5 * element->value + 0.5 / (1.0 + std::fabs(sum));
        }
        return sum;
    }
};

struct L1 {
    static double of(double x)
    {
        return std::fabs(x);
    }
};
struct L2 {
    static double of(double x)
    {
        return std::sqrt(x * x + 1e-9);
    }
};

template <typename Norm, typename M> __attribute__((noinline)) double project(const M &mesh)
{
    double sum = 0;
    for (const auto &element : mesh.elements)
        for (int i = 0; i < 40; i++)
            sum += Norm::of(element->value - std::sin(0.1 * i)) * element->width();
    return sum;
}

int main(int argc, char **argv)
{
    double scale = argc > 1 ? std::atof(argv[1]) : 1.0;
    double sum = 0, norm = 0;
    for (int cycle = 0; cycle < 3; cycle++) {
        Mesh<Quadratic> mesh;
        for (int repeat = 0; repeat < std::max(1, int(22 * scale)); repeat++) {
            mesh.elements.clear();
            mesh.elements.push_back(std::make_unique<Linear>(0.0, 1.0));
            while (mesh.elements.size() < 30000)
                mesh.refine(30000);
        }
        for (int i = 0; i < int(700 * scale); i++)
            sum += mesh.sweep();
        for (int i = 0; i < int(40 * scale); i++)
            norm += project<L1>(mesh) + project<L2>(mesh);
    }
    std::printf("sum %.6e, norm %.6e\n", sum, norm);
}
