// Every way into and out of functions and loops in C++. hit(n) is the first thing that the n-th place does.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#define EXPORT __attribute__((visibility("default")))
#define CATCH_ALL catch (...) { caught++; }

static long counts[100];
static int caught;

static int hit(int place) noexcept
{
    return static_cast<int>(++counts[place]);
}

static void report()
{
    for (int place = 0; place < 100; place++)
        if (counts[place])
            std::printf("%d %ld\n", place, counts[place]);
}

namespace outer
{
inline namespace inner
{
class EXPORT Mesh final
{
  public:
    Mesh() : size_{1}, values_(4) { hit(1); }
    explicit Mesh(int size) try : size_(size), values_(check(size))
    {
        hit(2);
    }
    catch (const std::exception &)
    {
        caught++;
    }
    ~Mesh() noexcept
    {
        hit(3);
    }
    Mesh(const Mesh &) = default;
    Mesh &operator=(const Mesh &) = delete;
    int operator()(int a) const { hit(4); return a + size_; }
    operator bool() const
    {
        hit(5);
        return size_ > 0;
    }
    Mesh &operator++();
    virtual void nothing() {};
    template <typename T> T smooth(T x) const;
    static std::size_t check(int size)
    {
        hit(6);
        if (size < 0)
            throw std::runtime_error("negative");
        return static_cast<std::size_t>(size) + 1;
    }
    auto trailing(int a) const -> int
    {
        hit(7);
        return a;
    }
    const int &size() const & { hit(8); return size_; }

  private:
    int size_;
    std::vector<int> values_;
};

template <typename T> T Mesh::smooth(T x) const
{
    hit(9);
    for (auto value : values_) {
        hit(10);
        if (value < 0)
            return x;
        x += T(value) + 1;
    }
    return x;
}
} // namespace inner

Mesh &Mesh::operator++()
{
    hit(11);
    size_++;
    return *this;
}

namespace
{
struct Hidden {
    int run(int n)
    {
        hit(12);
        int sum = 0;
        while (n-- > 0)
            sum += hit(13) > 0;
        return sum;
    }
};
} // namespace
} // namespace outer

constexpr int known(int n)
{
    return n < 2 ? n : known(n - 1) + known(n - 2);
}

static int thrown(int depth)
{
    hit(14);
    if (depth == 0)
        throw depth + 1;
    return thrown(depth - 1) + 1;
}

static int lambdas(int n)
{
    hit(15);
    const auto twice = [](int a) { hit(16); return 2 * a; };
    std::function<int(int)> deep = [&](int a) -> int {
        hit(17);
        for (int i = 0; i < 10; i++) {
            hit(18);
            if (i == a)
                return i;
        }
        return a > 20 ? a : deep(a + 5);
    };
    int sum = 0;
    for (int i = 0; i < n; i++) sum += [i, &twice] { hit(19); return twice(i); }();
    return sum + deep(n);
}

static int tries(int n) try {
    hit(20);
    for (int i = 0; i < n; i++) {
        hit(21);
        try {
            if (i % 3 == 0)
                thrown(i % 4);
            if (i % 5 == 4)
                continue;
            if (i > 30)
                throw std::string("far");
        } catch (int) {
            while (caught % 7) {
                hit(22);
                caught++;
            }
        }
        CATCH_ALL
        try {
            thrown(2);
        }
        CATCH_ALL
    }
    if (n % 4 == 3)
        throw 5;
    return n;
} catch (int five) {
    return five;
}

extern "C" {
static int of_c(int a)
{
    hit(23);
    switch (a) {
    case 1:
        return 4;
    default:
        do {
            hit(24);
            if (a > 3)
                break;
        } while (++a < 5);
    }
    return a;
}
}

template <class... Parts> static int variadic(Parts... parts)
{
    hit(25);
    int sum = 0;
    for (int part : {parts...})
        for (int i = 0; i < part; ++i)
            if (hit(26) % 2)
                sum++;
            else
                goto next;
next:
    return sum;
}

int main(int argc, char **)
try {
    std::atexit(report);
    static_assert(known(10) == 55, "constexpr stays one");
    int total = argc;
    for (int i = 0; i < 20; ++i) {
        hit(27);
        outer::Mesh one;
        ++one;
        try {
            outer::Mesh other(i % 4 - 1);
            total += other(i);
        } catch (const std::runtime_error &) {
            total++;
        }
        total += one(i) + bool(one) + one.trailing(i) + one.size() + static_cast<int>(one.smooth(i * 0.5));
        one.nothing();
        total += outer::Hidden().run(i) + lambdas(i) + tries(i) + of_c(i % 7) + variadic(i, 2, 3);
    }
    std::printf("total %d %d\n", total, caught);
    return total % 50;
} catch (...) {
    std::puts("caught in main");
    return 3;
}
