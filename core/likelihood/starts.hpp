// Where patterns may be: rows and items that are near each other in the leading directions of what chance leaves over.
#pragma once

#include "../team.hpp"
#include "pattern.hpp"

namespace saltmine::likelihood {

// Starts for `Fitter::fit`, with items or with rows; they depend on the data only.
std::vector<Pattern> find_starts(const Store& store, const Chance& chance, Team& team);

// Those rows of a pattern that are on one side of the direction in which they differ most, and the items of both sides.
struct Halves {
    Words rows;
    std::vector<Int> items[2];
};
Halves halve(const Store& store, const Pattern& pattern);

}  // namespace saltmine::likelihood
