// A template under two types: one function in the source, two in the program.
#include "include/kernel.hpp"
#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
    numeric::Field<double> one;
    numeric::Field<float> other;
    one.values.assign(20000, 1.0);
    other.values.assign(20000, 1.0f);
    double sum = 0;
    for (int i = 0; i < 60 * rounds; i++)
        one.relax(1e-3);
    for (int i = 0; i < 60 * rounds; i++)
        other.relax(1e-3f);
    for (int i = 0; i < 100 * rounds; i++)
        sum += numeric::total(one);
    std::printf("sum %d\n", sum > 0);
}
