// Two crews of threads that change their work together: first one hashes while the other sorts, then one searches for
// primes while the other multiplies polynomials. The main thread only waits, and says when a phase begins.
#include "truth_log.h"
#include <algorithm>
#include <cstdint>
#include <pthread.h>
#include <thread>
#include <vector>

struct Work {
    int hashes, sorts, sieves, products;
};
static pthread_barrier_t gate; // both crews and main
static uint64_t result[4];

KEPT static uint64_t hash_blocks(uint64_t hash)
{
    for (uint64_t i = 0; i < 400000; i++) {
        hash = (hash ^ (i * 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 29;
    }
    return hash;
}

KEPT static uint64_t sort_numbers(uint32_t seed)
{
    std::vector<uint32_t> numbers(10000);
    for (uint32_t &number : numbers)
        number = seed = seed * 1664525u + 1013904223u;
    std::sort(numbers.begin(), numbers.end());
    return numbers[numbers.size() / 2];
}

KEPT static uint64_t sieve_primes(uint64_t first)
{
    constexpr uint64_t width = 1 << 15;
    std::vector<char> composite(width);
    for (uint64_t p = 3; p < 12000; p += 2)
        for (uint64_t i = (p - first % p) % p; i < width; i += p)
            composite[i] = 1;
    return (uint64_t)std::count(composite.begin(), composite.end(), 0);
}

KEPT static uint64_t multiply_polynomials(uint64_t seed)
{
    constexpr size_t degree = 400;
    std::vector<uint64_t> a(degree), b(degree), product(2 * degree);
    for (size_t i = 0; i < degree; i++) {
        a[i] = (seed * (i + 1)) % 1000003;
        b[i] = (seed + i * i) % 1000003;
    }
    for (size_t i = 0; i < degree; i++)
        for (size_t j = 0; j < degree; j++)
            product[i + j] = (product[i + j] + a[i] * b[j]) % 1000003;
    return product[degree];
}

static void first_crew(const Work &work)
{
    for (int i = 0; i < work.hashes; i++)
        result[0] = hash_blocks(result[0] + (uint64_t)i);
    pthread_barrier_wait(&gate);
    for (int i = 0; i < work.sieves; i++)
        result[1] += sieve_primes(1000000 + (uint64_t)i * 32768);
    pthread_barrier_wait(&gate);
}

static void second_crew(const Work &work)
{
    for (int i = 0; i < work.sorts; i++)
        result[2] += sort_numbers((uint32_t)i);
    pthread_barrier_wait(&gate);
    for (int i = 0; i < work.products; i++)
        result[3] += multiply_polynomials((uint64_t)i);
    pthread_barrier_wait(&gate);
}

int main(int argc, char **argv)
{
    const double scale = scale_argument(argc, argv);
    const auto times = [scale](int n) { return 1 + (int)(n * scale); };
    const Work work = {times(3600), times(3900), times(36000), times(4200)};
    pthread_barrier_init(&gate, nullptr, 3);
    truth_phase("mix");
    std::thread first(first_crew, work), second(second_crew, work);
    pthread_barrier_wait(&gate);
    truth_phase("algebra");
    pthread_barrier_wait(&gate);
    truth_end();
    first.join();
    second.join();
    printf("crews: %016llx %llu %llu %llu\n", (unsigned long long)result[0], (unsigned long long)result[1],
           (unsigned long long)result[2], (unsigned long long)result[3]);
    return 0;
}
