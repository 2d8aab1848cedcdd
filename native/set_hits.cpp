// How many items of given sets every row has.
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

}  // namespace
}  // namespace saltmine

using namespace saltmine;
SALTMINE_EXPORT(count_set_hits)
