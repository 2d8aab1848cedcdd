// What Python calls of the tests of classes.
#include "bindings.hpp"
#include "class_tests.hpp"

// As Python calls them: what does not belong together is refused.
namespace saltmine::checked {

using Counts = Array<const Int>;

Groups groups_of(Counts hits, Counts successes, Counts trials, Counts rows) {
    if (hits.size() != rows.size() || successes.size() != rows.size() || trials.size() != rows.size()) {
        throw std::invalid_argument("counts of different numbers of groups");
    }
    return {hits.data, successes.data, trials.data, rows.data, rows.size()};
}

double log_p_value(Counts hits, Counts successes, Counts trials, Counts rows) {
    return saltmine::log_p_value(groups_of(hits, successes, trials, rows));
}

// Also where the probability itself can be summed up.
double log_p_bound(Counts hits, Counts successes, Counts trials, Counts rows) {
    Int observed = 0;
    for (Int hit : hits) observed += hit;
    return saltmine::log_bound(observed, groups_of(hits, successes, trials, rows));
}

using saltmine::join;
using saltmine::join_strata;
using saltmine::log_p_values;

}  // namespace saltmine::checked

SALTMINE_BIND(class_tests, saltmine::checked, log_p_value, log_p_bound, log_p_values, join_strata, join)
