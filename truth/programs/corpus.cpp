// A corpus of made-up chapters: written, cut into words, counted, and every chapter compared with its neighbours.
#include "truth_log.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

using Words = std::vector<uint64_t>;                       // hashes
using Counts = std::vector<std::pair<uint32_t, uint32_t>>; // word number and occurrences, sorted

static uint64_t seed = 0x243f6a8885a308d3u;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % limit);
}

// Syllables by chance; three of them make a word, more or less.
KEPT static std::string write_chapter(int words)
{
    static const char *const consonants = "bcdfghjklmnpqrstvwxz", *const vowels = "aeiou";
    std::string text;
    for (int i = 0; i < words; i++) {
        do {
            int syllable = 0;
            while (random_below(20) != 0)
                syllable = (syllable + 1) % 9;
            text += consonants[syllable / 5];
            text += vowels[syllable % 5];
        } while (random_below(3) != 0);
        text += random_below(9) ? ' ' : '\n';
    }
    return text;
}

KEPT static Words split_words(const std::string &text)
{
    Words words;
    std::string word;
    for (char c : text) {
        if (c != ' ' && c != '\n') {
            word += c;
            continue;
        }
        uint64_t hash = 0; // of the word and all its endings: words that rhyme differ in few terms
        for (size_t start = 0; start < word.size(); start++) {
            uint64_t ending = 14695981039346656037u;
            for (size_t i = start; i < word.size(); i++)
                ending = (ending ^ (uint8_t)word[i]) * 1099511628211u;
            hash += ending;
        }
        words.push_back(hash);
        word.clear();
    }
    return words;
}

KEPT static Counts count_words(const Words &words, std::unordered_map<uint64_t, uint32_t> &numbers)
{
    std::unordered_map<uint32_t, uint32_t> seen;
    for (uint64_t word : words)
        seen[numbers.emplace(word, numbers.size()).first->second]++;
    Counts counts(seen.begin(), seen.end());
    std::sort(counts.begin(), counts.end());
    return counts;
}

// The cosine of the angle between two chapters' counts.
KEPT static double similarity(const Counts &a, const Counts &b)
{
    double product = 0, square_a = 0, square_b = 0;
    for (const auto &word : a)
        square_a += (double)word.second * word.second;
    size_t i = 0;
    for (const auto &word : b) {
        square_b += (double)word.second * word.second;
        while (i < a.size() && a[i].first < word.first)
            i++;
        if (i < a.size() && a[i].first == word.first)
            product += (double)a[i].second * word.second;
    }
    return product / std::sqrt(square_a * square_b);
}

int main(int argc, char **argv)
{
    const size_t chapters = 4 + (size_t)(1000 * scale_argument(argc, argv));
    std::vector<std::string> texts;
    std::vector<Words> words;
    std::vector<Counts> counts;
    std::unordered_map<uint64_t, uint32_t> numbers;

    truth_phase("write");
    for (size_t i = 0; i < chapters; i++)
        texts.push_back(write_chapter(9000));
    truth_phase("split");
    for (const std::string &text : texts)
        words.push_back(split_words(text));
    truth_phase("count");
    for (const Words &chapter : words)
        counts.push_back(count_words(chapter, numbers));
    truth_phase("compare");
    double sum = 0;
    for (size_t i = 0; i < chapters; i++)
        for (size_t distance = 1; distance <= 50; distance++)
            sum += similarity(counts[i], counts[(i + distance) % chapters]);
    truth_end();
    printf("corpus: %zu different words, similarity %.9f\n", numbers.size(), sum / (double)chapters);
    return 0;
}
