// Tests of classes where rows belong to groups; saltmine/mdl/groups.py says what is what.
#include "bindings.hpp"
#include "added_items.hpp"

using namespace saltmine;

namespace {

// Items that are counted at a time, so that the counts stay in the cache.
constexpr Int AT_ONCE = 64;

// Counts of the strata in which labels can be exchanged: others are the same however that is done.
class Exchangeable {
public:
    explicit Exchangeable(Int n_strata)
        : had_(n_strata), successes_(n_strata), trials_(n_strata), rows_(n_strata), lacked_(n_strata),
          others_(n_strata) {}

    void clear() { size_ = 0; }
    void add(Int had, Int successes, Int trials, Int rows) {
        if (successes == 0 || successes == rows || trials == 0 || trials == rows) return;
        had_[size_] = had;
        successes_[size_] = successes;
        trials_[size_] = trials;
        rows_[size_] = rows;
        lacked_[size_] = successes - had;
        others_[size_++] = rows - trials;
    }
    double more() const { return test(had_, trials_); }
    double less() const { return test(lacked_, others_); }

private:
    double test(const std::vector<Int>& hits, const std::vector<Int>& trials) const {
        if (size_ == 0) return 0.0;
        return log_p_value({hits.data(), successes_.data(), trials.data(), rows_.data(), size_});
    }

    std::vector<Int> had_, successes_, trials_, rows_, lacked_, others_;
    Int size_ = 0;
};

// Test by exchanging labels within strata that classes have more, and less, of every item, (2, c, n).
void test_by_strata(Cells cells, Array<const Int> classes, Array<const Int> strata, View<double, 3> log_p) {
    Int m = cells.shape[0], n = cells.shape[1], c = log_p.shape[1], n_strata = count_strata(strata);
    if (classes.size() != m || strata.size() != m || log_p.shape[0] != 2 || log_p.shape[2] != n) {
        throw std::invalid_argument("arrays that do not belong together");
    }
    std::vector<Int> rows(n_strata * c), hits(n_strata * c * AT_ONCE);
    for (Int j = 0; j < m; ++j) {
        if (classes[j] < 0 || classes[j] >= c || strata[j] < 0) {
            throw std::invalid_argument("a class that is not there");
        }
        ++rows[strata[j] * c + classes[j]];
    }
    std::vector<Int> all_rows = sum_classes({rows.data(), {n_strata, c}}), all_hits(n_strata);
    Exchangeable exchangeable(n_strata);
    for (Int begin = 0; begin < n; begin += AT_ONCE) {
        Int width = std::min(AT_ONCE, n - begin);
        std::fill(hits.begin(), hits.end(), 0);
        for (Int j = 0; j < m; ++j) {
            Int* of_group = hits.data() + (strata[j] * c + classes[j]) * AT_ONCE;
            const std::uint8_t* row = &cells(j, begin);
            for (Int i = 0; i < width; ++i) of_group[i] += row[i];
        }
        for (Int i = 0; i < width; ++i) {
            for (Int g = 0; g < n_strata; ++g) {
                all_hits[g] = 0;
                for (Int a = 0; a < c; ++a) all_hits[g] += hits[(g * c + a) * AT_ONCE + i];
            }
            for (Int a = 0; a < c; ++a) {
                exchangeable.clear();
                for (Int g = 0; g < n_strata; ++g) {
                    exchangeable.add(hits[(g * c + a) * AT_ONCE + i], all_hits[g], rows[g * c + a], all_rows[g]);
                }
                log_p(0, a, begin + i) = exchangeable.more();
                log_p(1, a, begin + i) = exchangeable.less();
            }
        }
    }
}

}  // namespace

SALTMINE_BIND(groups, saltmine, test_by_strata)
