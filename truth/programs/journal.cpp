// A key-value store with a journal: every batch of changes is appended and synced, then the journal is replayed into a
// table, and the table is written out in order. The first and the last wait for the disk; replaying computes.
#include "truth_log.h"
#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <map>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

struct Change {
    uint64_t key, value;
};
constexpr int BATCH = 256;

static uint64_t seed = 1234567;

static uint64_t random_word()
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

// Synced, then a pause: changes are gathered for some milliseconds before the disk has to move.
static bool synced(int file)
{
    const bool done = fdatasync(file) == 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return done;
}

KEPT static bool append_batch(int file)
{
    Change batch[BATCH];
    for (Change &change : batch)
        change = {random_word() % 50000, random_word()};
    return write(file, batch, sizeof batch) == (ssize_t)sizeof batch && synced(file);
}

// A journal that is replayed over and over, with a checksum of each batch.
KEPT static uint64_t replay_batch(int file, int number, std::map<uint64_t, uint64_t> &table)
{
    Change batch[BATCH];
    uint64_t sum = 0;
    if (pread(file, batch, sizeof batch, (off_t)number * (off_t)sizeof batch) != (ssize_t)sizeof batch)
        return 0;
    for (const Change &change : batch) {
        table[change.key] = change.value;
        sum = sum * 31 + change.key;
    }
    return sum;
}

KEPT static bool write_page(int file, std::map<uint64_t, uint64_t>::const_iterator &at, size_t rows)
{
    std::string page;
    for (size_t i = 0; i < rows; i++, ++at)
        page += std::to_string(at->first) + ' ' + std::to_string(at->second) + '\n';
    return write(file, page.data(), page.size()) == (ssize_t)page.size() && synced(file);
}

int main(int argc, char **argv)
{
    const double scale = scale_argument(argc, argv);
    const std::string path = "journal-" + std::to_string(getpid()) + ".tmp";
    const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600), batches = 4 + (int)(500 * scale);
    std::map<uint64_t, uint64_t> table;
    uint64_t sum = 0;
    bool written = file >= 0;
    truth_phase("append");
    for (int i = 0; i < batches; i++)
        written = written && append_batch(file);
    truth_phase("replay");
    for (int i = 0; i < 80 * batches; i++)
        sum += replay_batch(file, i * 7 % batches, table);
    truth_phase("dump");
    for (int round = 0; round < 1 + (int)(16 * scale); round++) {
        auto at = table.cbegin();
        for (size_t left = table.size(); left >= 64; left -= 64)
            written = (left / 64 % 8 != 0 || write_page(file, at, 64)) && written;
    }
    truth_end();
    close(file);
    unlink(path.c_str());
    printf("journal: %zu keys, %016llx%s\n", table.size(), (unsigned long long)sum, written ? "" : ", not written");
    return written ? 0 : 1;
}
