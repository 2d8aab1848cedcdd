// Random numbers that a seed decides, the same on every machine.
#pragma once

#include "views.hpp"

namespace saltmine {

// splitmix64: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators".
class Random {
public:
    explicit Random(Int seed) : state_(static_cast<Word>(seed)) {}

    Word next() {
        Word mixed = state_ += 0x9e3779b97f4a7c15;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
        return mixed ^ (mixed >> 31);
    }

    // A number from 0 to below `bound`, which is at least 1 and below 2^32; all are equally likely.
    // By Lemire 2019, "Fast random integer generation in an interval".
    Int below(Int bound) {
        const Word count = static_cast<Word>(bound);
        Word scaled = (next() >> 32) * count;
        // Some numbers would come up once more than others: draws that make the difference are repeated.
        if (low_half(scaled) < count) {
            const Word excess = (Word{1} << 32) % count;
            while (low_half(scaled) < excess) scaled = (next() >> 32) * count;
        }
        return static_cast<Int>(scaled >> 32);
    }

private:
    static Word low_half(Word word) { return word & 0xffffffff; }

    Word state_;
};

}  // namespace saltmine
