// Patterns by likelihood, as Python calls them.
#include "bindings.hpp"
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
using Part = std::tuple<std::vector<Int>, std::vector<Int>, std::vector<Int>, std::vector<double>, double>;

Part part(const Search& search, std::size_t s) {
    const Pattern& pattern = search.patterns().at(s);
    std::vector<Int> rows;
    for (Int j = 0; j < search.store().n_rows; ++j) {
        const Int place = search.store().places[j];
        if (has_bit(pattern.rows[place / 64], place % 64)) rows.push_back(j);
    }
    return {pattern.items, {pattern.in_class.begin(), pattern.in_class.end()}, rows, pattern.strengths, pattern.value};
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
        .def("evidence_of", &Search::evidence_of)
        .def("run", &Search::run, WithoutLock())
        .def("n_patterns", [](const Search& self) { return self.patterns().size(); })
        .def("evidence", [](const Search& self) { return self.evidence(); })
        .def("pattern", likelihood::part);
}
