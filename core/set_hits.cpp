// How many items of given sets every row has.
#include "bindings.hpp"
#include "stored.hpp"

namespace saltmine {
namespace {

// Add up, for rows from one on, what their ones count in every set, (rows, sets). ``item_of`` has the item of every
// column, -1 for columns that do not count. The sets of item i are those from begins[i] to begins[i + 1], each with what
// the item counts there.
void count_set_hits(Stored rows, Int first, Array<const std::int32_t> item_of, Array<const std::int32_t> begins,
                    Array<const std::int32_t> sets, Array<const std::int32_t> counts, Matrix<Int> hits) {
    with_arrays(rows, [&](auto starts, auto columns) {
        for (Int j = 0; j < hits.shape[0]; ++j) {
            Int* of_row = hits.data + j * hits.shape[1];
            for (Int k = starts[first + j]; k < static_cast<Int>(starts[first + j + 1]); ++k) {
                std::int32_t item = item_of[columns[k]];
                if (item < 0) continue;
                for (std::int32_t e = begins[item]; e < begins[item + 1]; ++e) of_row[sets[e]] += counts[e];
            }
        }
    });
}

// The same for rows of cells. The columns of set s are those from begins[s] to begins[s + 1], each with what it counts.
void count_set_hits_of_cells(Matrix<const bool> rows, Array<const std::int32_t> begins,
                             Array<const std::int32_t> columns, Array<const std::int32_t> counts, Matrix<Int> hits) {
    for (Int j = 0; j < hits.shape[0]; ++j) {
        const bool* row = rows.data + j * rows.shape[1];
        for (Int s = 0; s < hits.shape[1]; ++s) {
            Int sum = 0;
            // Without a branch, which ones that come at random would mislead.
            for (std::int32_t e = begins[s]; e < begins[s + 1]; ++e) sum += Int{row[columns[e]]} * counts[e];
            hits.data[j * hits.shape[1] + s] = sum;
        }
    }
}

}  // namespace
}  // namespace saltmine

SALTMINE_BIND(set_hits, saltmine, count_set_hits, count_set_hits_of_cells)
