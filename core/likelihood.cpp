// Patterns by likelihood, as Python calls them.
#include "bindings.hpp"
#include "likelihood/rows.hpp"
#include "likelihood/search.hpp"

namespace saltmine::likelihood {
namespace {

Store make_store(Matrix<const Word> columns, Matrix<const Word> observed, Array<const Int> labels) {
    const Int n_words = (labels.size() + 63) / 64;
    if (columns.shape[1] != n_words || (observed.size() > 0 && observed.shape != columns.shape)) {
        throw std::invalid_argument("columns, observed cells and labels of different sizes");
    }
    if (labels.size() == 0) throw std::invalid_argument("data without rows");
    for (Int label : labels) {
        if (label < 0) throw std::invalid_argument("a class that is not there");
    }
    return {columns, observed, labels};
}

// Items, (items, classes) whether a class has them, the rows of the input, and strengths.
using Part = std::tuple<std::vector<Int>, std::vector<Int>, std::vector<Int>, std::vector<double>, double, bool>;

Part part(const Search& search, std::size_t s) {
    const Pattern& pattern = search.patterns().at(s);
    std::vector<Int> rows;
    for (Int j = 0; j < search.store().n_rows; ++j) {
        const Int place = search.store().places[j];
        if (has_bit(pattern.rows[place / 64], place % 64)) rows.push_back(j);
    }
    return {pattern.items, {pattern.in_class.begin(), pattern.in_class.end()}, rows, pattern.strengths, pattern.value,
            pattern.within};
}

bool is_rising(Array<const Int> edges, Int last) {
    const Int n = edges.size();
    return n > 0 && edges[0] == 0 && edges[n - 1] == last && std::is_sorted(edges.begin(), edges.end());
}

// Items of rows or patterns, which must be items and rise within each of them.
bool are_items(Array<const Int> edges, Array<const Int> items, Int n) {
    if (!is_rising(edges, items.size())) return false;
    for (Int s = 0; s + 1 < edges.size(); ++s) {
        for (Int k = edges[s]; k < edges[s + 1]; ++k) {
            if (items[k] < 0 || items[k] >= n || (k > edges[s] && items[k] <= items[k - 1])) return false;
        }
    }
    return true;
}

template <class T>
bool has_shape(Matrix<T> matrix, Int rows, Int columns) {
    return matrix.shape[0] == rows && matrix.shape[1] == columns;
}

void require(bool fits, const char* what) {
    if (!fits) throw std::invalid_argument(what);
}

// Nats of rows, whose items are those from pointers[j] to pointers[j + 1], in every class, (rows, classes), and, if there
// is room for it, their posterior use of every pattern, (rows, classes, patterns).
void score_rows(Matrix<const double> base, Matrix<const double> rates, Array<const Int> edges, Array<const Int> items,
                Matrix<const double> strengths, Array<const Int> pointers, Array<const Int> columns, Matrix<double> nats,
                View<double, 3> use, Int n_threads) {
    const Int c = base.shape[0], n = base.shape[1], r = rates.shape[1], m = pointers.size() - 1;
    require(are_items(edges, items, n) && are_items(pointers, columns, n), "items that are not there or do not rise");
    require(has_shape(rates, c, edges.size() - 1) && has_shape(strengths, c, items.size()) && has_shape(nats, m, c) &&
                (use.size() == 0 || use.shape == std::array<Int, 3>{m, c, r}) && n_threads > 0,
            "a model and rows of different sizes");
    const auto is_rate = [](double p) { return p > 0 && p < 1; };
    require(std::all_of(base.begin(), base.end(), is_rate) && std::all_of(rates.begin(), rates.end(), is_rate) &&
                std::all_of(strengths.begin(), strengths.end(), [](double p) { return p >= 0 && p < 1; }),
            "rates that are no probabilities below one");
    const RowModel model(base, rates, edges, items, strengths);
    const RowItems rows{pointers, columns};
    constexpr Int SOME = 256;
    constexpr std::size_t MOST_SETS = 16;
    Team team(n_threads);
    share_out(team, (m + SOME - 1) / SOME, [&](std::size_t block) {
        RowReader reader(model, MOST_SETS);
        const Int first = static_cast<Int>(block) * SOME;
        for (Int j = first; j < std::min(m, first + SOME); ++j) {
            reader.read(rows.begin(j), rows.end(j));
            for (Int a = 0; a < c; ++a) {
                nats(j, a) = reader.score(a);
                if (use.size() > 0) reader.add_use(&use(j, a, 0));
            }
        }
    });
}

// The model that score_rows takes, from rows with classes, and patterns with the rows that use them; in_class is
// (classes, places): whether an item belongs to its pattern in a class.
void estimate_from(Array<const Int> pointers, Array<const Int> columns, Array<const Int> labels, Int n_items, Int n_classes,
                   Array<const Int> edges, Array<const Int> items, Matrix<const bool> in_class, Matrix<const bool> usage,
                   Matrix<double> base, Matrix<double> rates, Matrix<double> strengths, Int n_threads, int n_rounds) {
    const Int m = labels.size(), c = n_classes, r = edges.size() - 1;
    require(are_items(edges, items, n_items) && are_items(pointers, columns, n_items), "items that are not there or do not rise");
    require(pointers.size() == m + 1 && has_shape(in_class, c, items.size()) && has_shape(usage, m, r) &&
                has_shape(base, c, n_items) && has_shape(rates, c, r) && has_shape(strengths, c, items.size()) &&
                n_threads > 0,
            "rows, patterns and a model of different sizes");
    require(std::all_of(labels.begin(), labels.end(), [c](Int a) { return a >= 0 && a < c; }), "a class that is not there");
    estimate_rows({{pointers, columns}, labels, edges, items, in_class, usage}, base, rates, strengths, n_rounds, n_threads);
}

}  // namespace
}  // namespace saltmine::likelihood

void bind_likelihood(nb::module_& core) {
    using namespace saltmine;
    using likelihood::Search, likelihood::Options;
    nb::class_<Search>(core, "LikelihoodSearch")
        .def("__init__",
             [](Search* self, Matrix<const Word> columns, Matrix<const Word> observed, Array<const Int> labels,
                bool alterations, double class_prior, double least, Int max_patterns, Int n_threads, double seconds) {
                 new (self) Search(likelihood::make_store(columns, observed, labels),
                                   Options{alterations, class_prior, least, max_patterns, n_threads, seconds});
             })
        .def("evidence_of",
             [](Search& self, const std::vector<saltmine::Int>& items) {
                 const auto is_item = [&](auto i) { return i >= 0 && i < self.store().n_items; };
                 likelihood::require(items.size() > 1 && std::all_of(items.begin(), items.end(), is_item) &&
                                         std::is_sorted(items.begin(), items.end(), std::less_equal<saltmine::Int>()),
                                     "items that are not there or do not rise, or less than two");
                 return self.evidence_of(items);
             })
        .def("start_from",
             [](Search& self, const std::vector<saltmine::Int>& rows) {
                 likelihood::require(std::all_of(rows.begin(), rows.end(), [&](auto j) { return j >= 0 && j < self.store().n_rows; }),
                                     "a row that is not there");
                 self.start_from(rows);
             })
        .def("run", &Search::run, WithoutLock())
        .def("was_short", &Search::was_short)
        .def("n_patterns", [](const Search& self) { return self.patterns().size(); })
        .def("evidence", [](const Search& self) { return self.evidence(); })
        .def("pattern", likelihood::part);
    core.def("score_rows", likelihood::score_rows, WithoutLock());
    core.def("estimate_rows", likelihood::estimate_from, WithoutLock());
}
