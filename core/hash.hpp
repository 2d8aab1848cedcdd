// Keys of 128 bits: different sets of rows have different ones, but for a coincidence of one in 2^128.
#pragma once

#include <utility>
#include <vector>

#include "views.hpp"

namespace saltmine {

using Key = std::pair<Word, Word>;

struct KeyHash {
    std::size_t operator()(const Key& key) const { return static_cast<std::size_t>(key.first); }
};

inline Word mix(Word key) {
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9ull;
    key = (key ^ (key >> 27)) * 0x94D049BB133111EBull;
    return key ^ (key >> 31);
}

inline Key key_of(const std::vector<Word>& words) {
    Key key{0x9E3779B97F4A7C15ull, 0xD1B54A32D192ED03ull};
    for (Word word : words) {
        key.first = mix(key.first ^ word) + 1;
        key.second = mix(key.second + word) ^ (key.second << 7);
    }
    return key;
}

}  // namespace saltmine
