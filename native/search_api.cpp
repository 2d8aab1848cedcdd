// The local search as Python sees it: an object, and functions of it. Items come and go as (c, n) arrays of truth.
#include "search.hpp"

namespace saltmine {

namespace {

struct Engine {
    Engine(const Data& data, Array<const Int> item_counts, Matrix<const Word> strata, bool may_alter, double log_alpha,
           Int n_slots, Int n_threads)
        : search(std::make_shared<Problem>(data, item_counts, strata, may_alter, log_alpha), n_slots), team(n_threads) {}

    Search search;
    Team team;
};

Items items_from(const Model& model, Matrix<const bool> carry) {
    Items items;
    Int c = carry.shape[0], n = carry.shape[1], words = model.class_words();
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

Rows rows_from(Array<const Word> rows) { return Rows(rows.begin(), rows.end()); }

Engine* search_new(Data data, Array<const Int> item_counts, Matrix<const Word> strata, bool may_alter, double log_alpha,
                   Int n_slots, Int n_threads) {
    return new Engine(data, item_counts, strata, may_alter, log_alpha, n_slots, n_threads);
}

void search_free(Engine* engine) { delete engine; }

// ---------------------------------------------------------------------- the model

double search_length(Engine* engine) { return engine->search.length; }

double search_update(Engine* engine) {
    engine->search.update();
    return engine->search.length;
}

std::vector<Int> search_used(Engine* engine) {
    std::vector<Int> used;
    for (const Pattern& pattern : engine->search.model.slots) used.push_back(pattern.used);
    return used;
}

std::vector<Int> search_errors(Engine* engine) { return engine->search.model.errors; }

void search_covered(Engine* engine, Matrix<Word> covered) {
    const std::vector<Word>& cells = engine->search.model.covered;
    std::copy(cells.begin(), cells.end(), covered.begin());
}

std::vector<double> search_background(Engine* engine) {
    const Model& model = engine->search.model;
    std::vector<double> background;
    for (Int i = 0; i < model.data->n_items(); ++i) background.push_back(model.background(i));
    return background;
}

void search_make_room(Engine* engine, Int count) { engine->search.model.make_room(count); }

void search_put(Engine* engine, Int s, Array<const Word> rows, Matrix<const bool> carry) {
    Model& model = engine->search.model;
    model.put(s, rows_from(rows), items_from(model, carry));
}

void search_take_out(Engine* engine, Int s) { engine->search.model.take_out(s); }

void search_rows(Engine* engine, Int s, Array<Word> rows) {
    const Pattern& pattern = engine->search.model.slots[s];
    std::fill(rows.begin(), rows.end(), 0);
    std::copy(pattern.rows.begin(), pattern.rows.end(), rows.begin());
}

void search_carry(Engine* engine, Int s, Matrix<bool> carry) {
    const Model& model = engine->search.model;
    const Items& items = model.slots[s].items;
    std::fill(carry.begin(), carry.end(), false);
    for (std::size_t k = 0; k < items.size(); ++k) {
        for (Int a = 0; a < carry.shape[0]; ++a) carry(a, items.numbers[k]) = model.carries(items, k, a);
    }
}

Int search_version(Engine* engine, Int s) { return static_cast<Int>(engine->search.model.slots[s].version); }

Int search_sort(Engine* engine, Int s) { return engine->search.model.slots[s].sort; }

void search_set_sort(Engine* engine, Int s, Int sort) {
    engine->search.model.slots[s].sort = static_cast<Sort>(sort);
}

// Let these classes have no items of their own in a pattern, and no others.
void search_set_alike(Engine* engine, Int s, Array<const bool> classes) {
    std::vector<Word>& alike = engine->search.model.slots[s].alike;
    std::fill(alike.begin(), alike.end(), 0);
    for (Int a = 0; a < classes.size(); ++a) alike[a / 64] |= static_cast<Word>(classes[a]) << (a % 64);
}

void search_alike(Engine* engine, Int s, Array<bool> classes) {
    const std::vector<Word>& alike = engine->search.model.slots[s].alike;
    for (Int a = 0; a < classes.size(); ++a) classes[a] = has_bit(alike[a / 64], a % 64);
}

double search_length_without(Engine* engine, Int s) { return engine->search.model.length_without(s); }

std::vector<Word> search_save(Engine* engine) { return engine->search.save(); }

void search_load(Engine* engine, Array<const Word> state) { engine->search.load(state); }

void search_set_deadline(Engine* engine, double seconds, Int looks) { engine->search.deadline.set(seconds, looks); }

// Whether the moves since then were asked to end, and the looks that are left.
std::tuple<bool, Int> search_deadline(Engine* engine) {
    return {engine->search.deadline.was_over(), engine->search.deadline.looks()};
}

// ---------------------------------------------------------------------- moves

void search_refit(Engine* engine, bool trim) { engine->search.refit(engine->team, trim); }

bool search_merge(Engine* engine) { return engine->search.merge(engine->team); }

bool search_split(Engine* engine) { return engine->search.split(engine->team); }

bool search_try_without(Engine* engine, Int s) { return engine->search.try_without(s); }

bool search_replace(Engine* engine, Array<const Int> old, Matrix<const Word> starts, bool force, bool test, double slack,
                    Int new_sort) {
    std::vector<Rows> from;
    for (Int k = 0; k < starts.shape[0]; ++k) from.push_back(rows_from(starts.at(k)));
    Exchange how{force, test, slack, static_cast<Sort>(new_sort)};
    return engine->search.replace(std::vector<Int>(old.begin(), old.end()), from, how);
}

bool search_add_fixed(Engine* engine, Matrix<const bool> carry, Array<const Word> start) {
    return engine->search.add_fixed(items_from(engine->search.model, carry), rows_from(start));
}

void search_fit_rows(Engine* engine, Int s, Matrix<const bool> carry, Array<Word> rows) {
    Rows chosen = rows_from({rows.data, rows.shape});
    engine->search.fit_rows(s, items_from(engine->search.model, carry), chosen);
    std::copy(chosen.begin(), chosen.end(), rows.begin());
}

void search_screen(Engine* engine, Matrix<const Word> starts, Array<double> lengths, Array<double> evidence) {
    engine->search.screen(engine->team, starts, lengths, evidence);
}

bool search_grow(Engine* engine, Matrix<const Word> starts, Int limit) {
    std::vector<Rows> from;
    for (Int k = 0; k < starts.shape[0]; ++k) from.push_back(rows_from(starts.at(k)));
    return engine->search.grow(engine->team, from, limit);
}

bool search_drop_unsupported(Engine* engine) { return engine->search.drop_unsupported(engine->team); }

Int search_count_found(Engine* engine) { return engine->search.count_found(); }

// ---------------------------------------------------------------------- tests

bool search_is_typical(Engine* engine, Int s) { return engine->search.is_typical_row(s); }

double search_together(Engine* engine, Int s, Array<const Word> among) {
    return engine->search.together(s, rows_from(among));
}

void search_pattern_evidence(Engine* engine, Array<const Int> patterns, Array<double> evidence) {
    share_out(engine->team, patterns.size(), [&](std::size_t k) {
        evidence[k] = engine->search.pattern_evidence(patterns[k]);
    });
}

// The evidence that the items of a pattern which is not there would go together.
double search_evidence_of(Engine* engine, Array<const Word> rows, Matrix<const bool> carry) {
    return engine->search.evidence_of(rows_from(rows), items_from(engine->search.model, carry), -1, false);
}

// Whether every class has items in these patterns that not all have, (k, c).
void search_adds(Engine* engine, Array<const Int> patterns, Matrix<bool> adds) {
    for (Int k = 0; k < patterns.size(); ++k) {
        for (Int a = 0; a < adds.shape[1]; ++a) adds(k, a) = engine->search.adds(patterns[k], a);
    }
}

// The evidence that the items of these patterns go together, (k,), and tests of their use by every class, (k, c).
void search_use(Engine* engine, Array<const Int> patterns, Array<double> together, Matrix<double> use) {
    const Search& search = engine->search;
    share_out(engine->team, patterns.size(), [&](std::size_t k) {
        const Pattern& pattern = search.model.slots[patterns[k]];
        together[k] = search.together(patterns[k], pattern.rows);
        std::vector<double> log_p = search.use_log_p(pattern.items, pattern.used);
        std::copy(log_p.begin(), log_p.end(), &use(k, 0));
    });
}

// Tests of what every class adds to these patterns, (k, c).
void search_added(Engine* engine, Array<const Int> patterns, Matrix<double> added) {
    share_out(engine->team, patterns.size(), [&](std::size_t k) {
        std::vector<double> log_p = engine->search.added_log_p(patterns[k]);
        std::copy(log_p.begin(), log_p.end(), &added(k, 0));
    });
}

double search_item_choice(Engine* engine, Int s) {
    return engine->search.item_choice(engine->search.model.slots[s].items);
}

double search_use_evidence(Engine* engine, Matrix<const bool> carry, Int used) {
    return engine->search.use_evidence(items_from(engine->search.model, carry), used);
}

std::vector<Word> search_carriers(Engine* engine, Int s) {
    const Pattern& pattern = engine->search.model.slots[s];
    return engine->search.carriers(pattern.items, pattern.used);
}

std::vector<Int> search_touched(Engine* engine, Array<const Int> changed) {
    return engine->search.touched(std::vector<Int>(changed.begin(), changed.end()));
}

}  // namespace

}  // namespace saltmine

using namespace saltmine;

SALTMINE_EXPORT(search_new)
SALTMINE_EXPORT(search_free)
SALTMINE_EXPORT(search_length)
SALTMINE_EXPORT(search_update)
SALTMINE_EXPORT(search_used)
SALTMINE_EXPORT(search_errors)
SALTMINE_EXPORT(search_covered)
SALTMINE_EXPORT(search_background)
SALTMINE_EXPORT(search_make_room)
SALTMINE_EXPORT(search_put)
SALTMINE_EXPORT(search_take_out)
SALTMINE_EXPORT(search_rows)
SALTMINE_EXPORT(search_carry)
SALTMINE_EXPORT(search_version)
SALTMINE_EXPORT(search_sort)
SALTMINE_EXPORT(search_set_sort)
SALTMINE_EXPORT(search_set_alike)
SALTMINE_EXPORT(search_alike)
SALTMINE_EXPORT(search_length_without)
SALTMINE_EXPORT(search_save)
SALTMINE_EXPORT(search_load)
SALTMINE_EXPORT(search_set_deadline)
SALTMINE_EXPORT(search_deadline)
SALTMINE_EXPORT(search_refit)
SALTMINE_EXPORT(search_merge)
SALTMINE_EXPORT(search_split)
SALTMINE_EXPORT(search_try_without)
SALTMINE_EXPORT(search_replace)
SALTMINE_EXPORT(search_add_fixed)
SALTMINE_EXPORT(search_fit_rows)
SALTMINE_EXPORT(search_screen)
SALTMINE_EXPORT(search_grow)
SALTMINE_EXPORT(search_drop_unsupported)
SALTMINE_EXPORT(search_count_found)
SALTMINE_EXPORT(search_is_typical)
SALTMINE_EXPORT(search_together)
SALTMINE_EXPORT(search_pattern_evidence)
SALTMINE_EXPORT(search_evidence_of)
SALTMINE_EXPORT(search_adds)
SALTMINE_EXPORT(search_use)
SALTMINE_EXPORT(search_added)
SALTMINE_EXPORT(search_item_choice)
SALTMINE_EXPORT(search_use_evidence)
SALTMINE_EXPORT(search_carriers)
SALTMINE_EXPORT(search_touched)
