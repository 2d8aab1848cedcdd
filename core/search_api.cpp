// The local search as Python sees it. Items come and go as (c, n) arrays of truth.
#include <unistd.h>

#include "search.hpp"
#include "bindings.hpp"

namespace saltmine {
namespace {

using Slots = Array<const Int>;
using Carry = Matrix<const bool>;

std::vector<Rows> rows_from(Matrix<const Word> sets) {
    std::vector<Rows> all;
    for (Int k = 0; k < sets.shape[0]; ++k) all.emplace_back(sets.at(k).begin(), sets.at(k).end());
    return all;
}

// A search and the threads that work on it.
class Engine {
public:
    Engine(Data data, Array<const Int> item_counts, Matrix<const Word> strata, bool may_alter, double log_alpha,
           Int n_slots, Int n_threads)
        : search(std::make_shared<Problem>(data, item_counts, strata, may_alter, log_alpha), n_slots),
          team_(std::make_unique<Team>(n_threads)), process_(getpid()) {}
    ~Engine() {
        // A process that was forked since has none of the threads, and would wait for them for ever.
        if (getpid() != process_) static_cast<void>(team_.release());
    }

    Search search;

    Model& model() { return search.model; }
    Team& team() { return *team_; }
    Pattern& slot(Int s) { return search.model.slots.at(s); }
    Items items_from(Carry carry) const {
        Items items;
        Int c = carry.shape[0], n = carry.shape[1], words = search.model.class_words();
        for (Int i = 0; i < n; ++i) {
            const bool* of_item = carry.data + i;
            Int first = 0;
            while (first < c && !of_item[first * n]) ++first;
            if (first == c) continue;
            items.numbers.push_back(static_cast<std::int32_t>(i));
            items.carriers.resize(items.carriers.size() + words);
            Word* carriers = items.carriers.data() + items.carriers.size() - words;
            for (Int a = first; a < c; ++a) carriers[a / 64] |= static_cast<Word>(of_item[a * n]) << (a % 64);
        }
        return items;
    }
    // Write what a test gives for each of these patterns, (k, c), side by side.
    template <class Test>
    void test_all(Slots patterns, Matrix<double> out, Test test) {
        share_out(team(), patterns.size(), [&](std::size_t k) {
            std::vector<double> found = test(k, patterns[k]);
            std::copy(found.begin(), found.end(), &out(k, 0));
        });
    }

private:
    std::unique_ptr<Team> team_;
    pid_t process_;
};

void copy_carry(Engine& engine, Int s, Matrix<bool> carry) {
    const Items& items = engine.slot(s).items;
    std::fill(carry.begin(), carry.end(), false);
    for (std::size_t k = 0; k < items.size(); ++k) {
        for (Int a = 0; a < carry.shape[0]; ++a) carry(a, items.numbers[k]) = engine.model().carries(items, k, a);
    }
}

void set_alike(Engine& engine, Int s, Array<const bool> classes) {
    std::vector<Word>& alike = engine.slot(s).alike;
    std::fill(alike.begin(), alike.end(), 0);
    for (Int a = 0; a < classes.size(); ++a) alike[a / 64] |= static_cast<Word>(classes[a]) << (a % 64);
}

// The evidence that the items of these patterns go together, (k,), and tests of their use by every class, (k, c).
void test_use(Engine& engine, Slots patterns, Array<double> together, Matrix<double> use) {
    engine.test_all(patterns, use, [&](std::size_t k, Int s) {
        together[k] = engine.search.together(s, engine.slot(s).rows);
        return engine.search.use_log_p(engine.slot(s).items, engine.slot(s).used);
    });
}

bool replace(Engine& engine, std::vector<Int> old, Matrix<const Word> starts, bool force, bool test, double slack, Int sort) {
    return engine.search.replace(old, rows_from(starts), {force, test, slack, static_cast<Sort>(sort)});
}

using Bound = nb::class_<Engine>;

void bind_state(Bound& bound) {
    bound.def_prop_ro("length", [](Engine& e) { return e.search.length; })
        .def_prop_ro("errors", [](Engine& e) { return e.model().errors; })
        .def_prop_ro("used", [](Engine& e) {
            std::vector<Int> used;
            for (const Pattern& pattern : e.model().slots) used.push_back(pattern.used);
            return used;
        })
        .def_prop_ro("background", [](Engine& e) {
            std::vector<double> background;
            for (Int i = 0; i < e.model().data->n_items(); ++i) background.push_back(e.model().background(i));
            return background;
        })
        .def("update", [](Engine& e) { e.search.update(); })
        .def_prop_ro("covered", [](Engine& e) { return e.model().covered; })
        .def("make_room", [](Engine& e, Int count) { e.model().make_room(count); })
        .def("put", [](Engine& e, Int s, Rows rows, Carry carry) { e.model().put(s, rows, e.items_from(carry)); })
        .def("take_out", [](Engine& e, Int s) { e.model().take_out(s); })
        .def("copy_carry", copy_carry)
        .def("rows", [](Engine& e, Int s) {
            Rows rows = e.slot(s).rows;
            rows.resize(e.model().data->n_words());
            return rows;
        })
        .def("version", [](Engine& e, Int s) { return e.slot(s).version; })
        .def("sort", [](Engine& e, Int s) { return static_cast<Int>(e.slot(s).sort); })
        .def("set_sort", [](Engine& e, Int s, Int sort) { e.slot(s).sort = static_cast<Sort>(sort); })
        .def("set_alike", set_alike)
        .def("copy_alike", [](Engine& e, Int s, Array<bool> classes) {
            for (Int a = 0; a < classes.size(); ++a) classes[a] = has_bit(e.slot(s).alike[a / 64], a % 64);
        })
        .def("length_without", [](Engine& e, Int s) { return e.model().length_without(s); })
        .def("save", [](Engine& e) { return e.search.save(); })
        .def("load", [](Engine& e, Array<const Word> state) { e.search.load(state); })
        .def("set_deadline", [](Engine& e, double seconds, Int looks) { e.search.deadline.set(seconds, looks); })
        .def_prop_ro("deadline", [](Engine& e) {
            return std::tuple(e.search.deadline.was_over(), e.search.deadline.looks());
        });
}

void bind_moves(Bound& bound) {
    const WithoutLock free;
    bound.def("refit", [](Engine& e, bool trim) { e.search.refit(e.team(), trim); }, free)
        .def("merge", [](Engine& e) { return e.search.merge(e.team()); }, free)
        .def("split", [](Engine& e) { return e.search.split(e.team()); }, free)
        .def("try_without", [](Engine& e, Int s) { return e.search.try_without(s); }, free)
        .def("replace", replace, free)
        .def("add_fixed", [](Engine& e, Carry carry, Rows start) { return e.search.add_fixed(e.items_from(carry), start); },
             free)
        .def("fit_rows", [](Engine& e, Int s, Carry carry, Rows rows) {
            e.search.fit_rows(s, e.items_from(carry), rows);
            return rows;
        }, free)
        .def("screen", [](Engine& e, Matrix<const Word> starts, Array<double> lengths, Array<double> evidence) {
            e.search.screen(e.team(), starts, lengths, evidence);
        }, free)
        .def("grow",
             [](Engine& e, Matrix<const Word> sets, Int most) { return e.search.grow(e.team(), rows_from(sets), most); }, free)
        .def("drop_unsupported", [](Engine& e) { return e.search.drop_unsupported(e.team()); }, free);
}

void bind_tests(Bound& bound) {
    const WithoutLock free;
    bound.def("count_found", [](Engine& e) { return e.search.count_found(); }, free)
        .def("is_typical", [](Engine& e, Int s) { return e.search.is_typical_row(s); }, free)
        .def("together", [](Engine& e, Int s, Rows among) { return e.search.together(s, among); }, free)
        .def("pattern_evidence", [](Engine& e, Slots patterns, Array<double> evidence) {
            share_out(e.team(), patterns.size(), [&](std::size_t k) { evidence[k] = e.search.pattern_evidence(patterns[k]); });
        }, free)
        .def("evidence_of",
             [](Engine& e, Rows rows, Carry carry) { return e.search.evidence_of(rows, e.items_from(carry), -1, false); }, free)
        .def("adds", [](Engine& e, Slots patterns, Matrix<bool> adds) {
            for (Int k = 0; k < patterns.size(); ++k) {
                for (Int a = 0; a < adds.shape[1]; ++a) adds(k, a) = e.search.adds(patterns[k], a);
            }
        }, free)
        .def("test_use", test_use, free)
        .def("test_added", [](Engine& e, Slots patterns, Matrix<double> log_p) {
            e.test_all(patterns, log_p, [&](std::size_t, Int s) { return e.search.added_log_p(s); });
        }, free)
        .def("item_choice", [](Engine& e, Int s) { return e.search.item_choice(e.slot(s).items); }, free)
        .def("use_evidence",
             [](Engine& e, Carry carry, Int used) { return e.search.use_evidence(e.items_from(carry), used); }, free)
        .def("carriers", [](Engine& e, Int s) { return e.search.carriers(e.slot(s).items, e.slot(s).used); }, free)
        .def("touched", [](Engine& e, std::vector<Int> changed) { return e.search.touched(changed); }, free);
}

}  // namespace
}  // namespace saltmine

void bind_search_api(nb::module_& core) {
    using namespace saltmine;
    Bound bound(core, "Search");
    // The search looks at the memory of its arrays as long as it is there.
    bound.def(nb::init<Data, Array<const Int>, Matrix<const Word>, bool, double, Int, Int>(), WithoutLock(),
              nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>());
    bind_state(bound);
    bind_moves(bound);
    bind_tests(bound);
}
