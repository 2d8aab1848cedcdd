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

// Nats of rows, whose items are those from pointers[j] to pointers[j + 1], in every class, (rows, classes), and, if there
// is room for it, their posterior use of every pattern, (rows, classes, patterns).
void score_rows(Matrix<const double> base, Matrix<const double> rates, Array<const Int> edges, Array<const Int> items,
                Matrix<const double> strengths, Array<const Int> pointers, Array<const Int> columns, Matrix<double> nats,
                View<double, 3> use, Int n_threads) {
    const Int n = base.shape[1], m = pointers.size() - 1;
    bool fits = rates.shape[0] == base.shape[0] && edges.size() == rates.shape[1] + 1 && strengths.shape[0] == base.shape[0] &&
                strengths.shape[1] == items.size() && nats.shape[0] == m && nats.shape[1] == base.shape[0] && m >= 0 &&
                pointers[0] == 0 && pointers[m] == columns.size() && edges[0] == 0 && edges[edges.size() - 1] == items.size();
    for (Int j = 0; fits && j < m; ++j) fits = pointers[j] <= pointers[j + 1];
    for (Int s = 0; fits && s + 1 < edges.size(); ++s) fits = edges[s] <= edges[s + 1];
    const auto is_item = [n](Int i) { return i >= 0 && i < n; };
    fits = fits && std::all_of(items.begin(), items.end(), is_item) && std::all_of(columns.begin(), columns.end(), is_item);
    fits = fits && (use.size() == 0 || (use.shape[0] == m && use.shape[1] == base.shape[0] && use.shape[2] == rates.shape[1]));
    if (!fits) throw std::invalid_argument("a model and rows of different sizes");
    const RowModel model(base, rates, edges, items, strengths);
    constexpr Int SOME = 256;
    Team team(n_threads);
    share_out(team, (m + SOME - 1) / SOME, [&](std::size_t block) {
        const Int first = static_cast<Int>(block) * SOME;
        for (Int j = first; j < std::min(m, first + SOME); ++j) {
            for (Int a = 0; a < base.shape[0]; ++a) {
                double* of_row = use.size() == 0 ? nullptr : use.data + (j * base.shape[0] + a) * rates.shape[1];
                nats(j, a) = model.score(a, columns.data + pointers[j], columns.data + pointers[j + 1], of_row);
            }
        }
    });
}

}  // namespace
}  // namespace saltmine::likelihood

void bind_likelihood(nb::module_& core) {
    using namespace saltmine;
    using likelihood::Search, likelihood::Options;
    nb::class_<Search>(core, "LikelihoodSearch")
        .def("__init__",
             [](Search* self, Matrix<const Word> columns, Matrix<const Word> observed, Array<const Int> labels,
                bool alterations, double class_prior, double least, Int max_patterns, Int n_threads) {
                 new (self) Search(likelihood::make_store(columns, observed, labels),
                                   Options{alterations, class_prior, least, max_patterns, n_threads});
             })
        .def("chance_nats", &Search::chance_nats)
        .def("evidence_of", &Search::evidence_of)
        .def("run", &Search::run, WithoutLock())
        .def("n_patterns", [](const Search& self) { return self.patterns().size(); })
        .def("evidence", [](const Search& self) { return self.evidence(); })
        .def("pattern", likelihood::part);
    core.def("score_rows", likelihood::score_rows, WithoutLock());
}
