// Sparse data whose stored entries are all ones: rows in CSR, with places of 32 or 64 bits as scipy chooses.
#pragma once

#include <variant>

#include "views.hpp"

namespace saltmine {

// Whole numbers of 32 or 64 bits; `int32_t` or `const int32_t` says whether they are written to.
template <class Small, class Large>
using Either = std::variant<Array<Small>, Array<Large>>;
using Places = Either<const std::int32_t, const std::int64_t>;
using NewPlaces = Either<std::int32_t, std::int64_t>;

// The entries of row j are those from starts[j] to starts[j + 1]; their columns are `items`.
struct Stored {
    Places starts, items;
};

// Call a function with the two arrays, whatever their types.
template <class F>
void with_arrays(const Stored& rows, F function) {
    std::visit(function, rows.starts, rows.items);
}

}  // namespace saltmine
