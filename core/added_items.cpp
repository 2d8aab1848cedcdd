// What Python calls of the test of added items.
#include "bindings.hpp"
#include "added_items.hpp"

// As Python calls them: what does not belong together is refused.
namespace saltmine::checked {

void check(bool fits) {
    if (!fits) throw std::invalid_argument("arrays that do not belong together");
}

void check_rows(Cells cells, Array<const Int> classes, Array<const Int> strata, Int n_classes) {
    check(classes.size() == cells.shape[0] && strata.size() == cells.shape[0]);
    for (Int a : classes) check(a >= 0 && a < n_classes);
    for (Int g : strata) check(g >= 0);
}

std::vector<double> test_added(Cells cells, Array<const Int> classes, Matrix<const bool> added, Array<const Int> strata,
                               Array<const Int> weights, double goal, Int n_items) {
    check_rows(cells, classes, strata, added.shape[0]);
    check(added.shape[1] == cells.shape[1] && weights.size() == cells.shape[1]);
    return saltmine::test_added(cells, classes, added, strata, weights, goal, n_items);
}

std::vector<Int> hits_by_group(Cells cells, Array<const Int> classes, Array<const Int> strata, Int n_classes) {
    check_rows(cells, classes, strata, n_classes);
    return saltmine::hits_by_group(cells, classes, strata, n_classes);
}

void test_items(View<const Int, 3> hits, Matrix<const Int> sizes, Matrix<const bool> added, Matrix<double> log_p) {
    check(sizes.shape[0] == hits.shape[0] && sizes.shape[1] == hits.shape[1]);
    check(added.shape[0] == hits.shape[1] && added.shape[1] == hits.shape[2] && log_p.shape == added.shape);
    saltmine::test_items(hits, sizes, added, log_p);
}

double simes(Array<const double> log_p, Array<const Int> weights, Int n_items) {
    check(log_p.size() == weights.size());
    return saltmine::simes(log_p, weights, n_items);
}

std::vector<double> simes_log_p(View<const Int, 3> hits, Matrix<const Int> sizes, Array<const Int> weights,
                                Matrix<const bool> added, Int n_items) {
    check(sizes.shape[0] == hits.shape[0] && sizes.shape[1] == hits.shape[1] && weights.size() == hits.shape[2]);
    check(added.shape[0] == hits.shape[1] && added.shape[1] == hits.shape[2]);
    return saltmine::simes_log_p(hits, sizes, weights, added, n_items);
}

// All shuffles of labels within groups of rows, which are sorted, one after the other.
std::vector<Int> shuffle_labels(Array<const Int> classes, Array<const Int> strata) {
    check(classes.size() == strata.size());
    std::vector<Int> labels(classes.begin(), classes.end()), all;
    for (Int k = 0; k < saltmine::SHUFFLES; ++k) {
        saltmine::shuffle(strata, k, labels);
        all.insert(all.end(), labels.begin(), labels.end());
    }
    return all;
}

double log_tail_of_score(double score, Array<const double> shuffled) {
    check(shuffled.size() > 0);
    return saltmine::log_tail_of_score(score, {shuffled.begin(), shuffled.end()});
}

using saltmine::can_shuffle;

}  // namespace saltmine::checked

SALTMINE_BIND(added_items, saltmine::checked, can_shuffle, test_added, hits_by_group, test_items, simes, simes_log_p,
              shuffle_labels, log_tail_of_score)
