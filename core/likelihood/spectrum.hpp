// Directions in which what chance leaves over is large, and rows that lie along them.
#pragma once

#include "chance.hpp"

namespace saltmine::likelihood {

// Directions that are looked for.
constexpr Int WIDTH = NARROW;

// Of the rows of some strata: their places, the leading directions of what chance leaves over, and these turned so that
// every row, or every item, is near few of them.
struct Directions {
    std::vector<Int> places;
    Int n_signals = 0, n_kept = 0;  // directions that are stronger than chance makes them; and with some more
    Doubles items;                  // (n, WIDTH): orthonormal, times the strength
    Doubles rows;                   // (places, WIDTH): orthonormal
    Doubles turned_rows, turned_items;  // of the same shapes: the kept ones, rotated
};

Directions find_directions(const Store& store, const Chance& chance, const std::vector<Int>& strata);

}  // namespace saltmine::likelihood
