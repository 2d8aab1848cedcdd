#include "search.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

namespace saltmine {

namespace {

// Two patterns are tried as one if they overlap by this much: shares of common items and rows of the smaller one, added
// up. If they overlap by the second, the smaller one is also tried without: what it covers may be for others to take.
constexpr double OVERLAP = 0.6, LOOK_AHEAD = 0.9;
constexpr std::size_t NEARBY = 8;
// A class whose items in a pattern are its own to this share is tried without the others.
constexpr double OWN = 0.2;
// Share of what a pattern saves that may go when a rounded model is trimmed.
constexpr double TRIMMED = 0.25;
// Turns of rows and items in one fit of a pattern, and in the screening of a seed.
constexpr Int ROUNDS = 6, SCREENING_ROUNDS = 2;
// Sweeps of refits over patterns that still change.
constexpr int SWEEPS = 10;
// f must fall by more than rounding errors.
constexpr double LEAST = 1e-6;
// Moves that are tried side by side, for each thread.
constexpr int MOVES_PER_THREAD = 64;

bool contains(const std::vector<Int>& values, Int value) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

bool any(const Rows& rows) {
    return std::any_of(rows.begin(), rows.end(), [](Word word) { return word != 0; });
}

Rows joined(const Rows& one, const Rows& other) {
    Rows both(one.size());
    for (std::size_t w = 0; w < one.size(); ++w) both[w] = one[w] | other[w];
    return both;
}

}  // namespace

Search::Search(std::shared_ptr<const Problem> problem, Int n_slots)
    : model(problem->data, problem->item_counts, n_slots), length(model.length()), problem_(std::move(problem)),
      fitting_(model, problem_->row_items) {}

// ---------------------------------------------------------------------- one exchange

// Fit a pattern into the empty slot s; unless f gets below the limit, there is none.
bool Search::fit(Int s, const Rows& start, double limit) {
    Int c = problem_->data.n_classes();
    std::vector<std::uint8_t> may_alter(c);
    for (Int a = 0; a < c; ++a) may_alter[a] = problem_->may_alter && !has_bit(model.slots[s].alike[a / 64], a % 64);
    FitRule rule{reinterpret_cast<const bool*>(may_alter.data()), model.slots[s].sort == TYPICAL, ROUNDS};
    if (!(fitting_.fit(model, s, start, rule) < limit)) return false;
    model.put(s, fitting_.rows, fitting_.items);
    return true;
}

// Fit a pattern again with classes alike that are not shown to differ; say whether it is still there.
bool Search::keep_shown(Int s) {
    Pattern& pattern = model.slots[s];
    std::vector<Word> adds(model.class_words());
    for (std::size_t k = 0; k < pattern.items.size(); ++k) {
        if (model.all_carry(pattern.items, k)) continue;
        for (Int j = 0; j < model.class_words(); ++j) adds[j] |= pattern.items.carriers[k * model.class_words() + j];
    }
    if (!any(adds)) return true;
    std::vector<double> log_p = added_log_p(s);
    bool weak = false;
    for (std::size_t a = 0; a < log_p.size(); ++a) {
        if (has_bit(adds[a / 64], a % 64) && log_p[a] > problem_->log_alpha) {
            pattern.alike[a / 64] |= Word{1} << (a % 64);
            weak = true;
        }
    }
    if (!weak) return true;
    Rows start = pattern.rows;
    model.take_out(s);
    return fit(s, start, INF);
}

bool Search::replace(const std::vector<Int>& old, const std::vector<Rows>& starts, const Exchange& how) {
    model.make_room(static_cast<Int>(starts.size()));
    double before = length;
    Backup kept = model.keep(old);
    for (Int s : old) model.take_out(s);
    if (old.size() != 1 || starts.size() != 1) {
        for (Int s : old) {
            std::fill(model.slots[s].alike.begin(), model.slots[s].alike.end(), 0);
            model.slots[s].sort = FREE;
        }
    }
    std::vector<Int> made;
    bool fitted = true;
    for (std::size_t k = 0; k < starts.size(); ++k) {
        Int s = -1;
        for (Int slot : old) {
            if (s < 0 && !contains(made, slot)) s = slot;
        }
        if (s < 0) {
            s = model.first_empty();
            std::fill(model.slots[s].alike.begin(), model.slots[s].alike.end(), 0);
            model.slots[s].sort = how.new_sort;
        }
        // With the last of them f is known before it is put in.
        bool decides = k + 1 == starts.size() && !how.force;
        fitted = fit(s, starts[k], decides ? before + how.slack - LEAST : INF);
        if (fitted) {
            made.push_back(s);
            fitted = !how.test || pattern_evidence(s) >= -problem_->log_alpha;
        }
        if (!fitted && !how.force) break;
    }
    update();
    auto is_shorter = [&] { return length < before + how.slack - LEAST; };
    if (how.force || (fitted && is_shorter())) {
        bool as_wished = true;
        for (Int s : made) as_wished &= keep_shown(s);
        update();
        // A typical row that few rows use would be asked for evidence, and others with it.
        for (Int s : made) as_wished &= how.new_sort != TYPICAL || is_typical_row(s);
        if (how.force || (as_wished && is_shorter())) {
            ++model.n_changes;
            return true;
        }
    }
    for (Int s : made) {
        if (model.slots[s].used > 0) model.take_out(s);
    }
    model.restore(kept);
    length = before;
    return false;
}

// Put one pattern in the place of two, from the first of these starts that makes f fall.
bool Search::replace_two(Int s, Int t, const std::vector<Rows>& starts) {
    double before = length;
    Backup kept = model.keep({s, t});
    for (Int old : {s, t}) {
        model.take_out(old);
        model.slots[old].sort = FREE;
        std::fill(model.slots[old].alike.begin(), model.slots[old].alike.end(), 0);
    }
    for (const Rows& start : starts) {
        if (!fit(s, start, before - LEAST)) continue;
        bool is_there = keep_shown(s);
        update();
        if (is_there && length < before - LEAST) {
            ++model.n_changes;
            return true;
        }
        if (model.slots[s].used > 0) model.take_out(s);
        std::fill(model.slots[s].alike.begin(), model.slots[s].alike.end(), 0);
    }
    model.restore(kept);
    length = before;
    return false;
}

// ---------------------------------------------------------------------- moves side by side

// Take over the patterns of another search of the same problem.
void Search::follow(const Search& other) {
    Int size = static_cast<Int>(other.model.slots.size());
    model.grow(size);
    std::vector<Int> different;
    for (Int s = 0; s < static_cast<Int>(model.slots.size()); ++s) {
        Word version = s < size ? other.model.slots[s].version : 0;
        if (model.slots[s].version == version) continue;
        different.push_back(s);
        if (model.slots[s].used > 0) model.take_out(s);
    }
    for (Int s : different) {
        if (s < size && other.model.slots[s].used > 0) {
            model.put(s, other.model.slots[s].rows, other.model.slots[s].items);
            model.slots[s].version = other.model.slots[s].version;
        }
    }
    for (Int s = 0; s < size; ++s) {
        model.slots[s].alike = other.model.slots[s].alike;
        model.slots[s].sort = other.model.slots[s].sort;
    }
    model.n_changes = other.model.n_changes;
    length = other.length;
}

// Says that it is done when it is gone, however that comes about.
class Done {
public:
    explicit Done(std::atomic<Int>& waiting) : waiting_(waiting) {}
    ~Done() { --waiting_; }

private:
    std::atomic<Int>& waiting_;
};

template <class Move, class Try>
std::size_t Search::side_by_side(Team& team, const std::vector<Move>& moves, Try attempt) {
    std::atomic<std::size_t> next{0}, first{moves.size()};
    std::atomic<Int> waiting{team.size() - 1};
    std::vector<std::size_t> changed_at(team.size(), moves.size());
    copies_.resize(team.size());
    team.run([&](Int thread) {
        Search* on = this;
        if (thread > 0) {
            Done done(waiting);
            std::unique_ptr<Search>& copy = copies_[thread];
            if (!copy) copy = std::make_unique<Search>(problem_, static_cast<Int>(model.slots.size()));
            copy->follow(*this);
            on = copy.get();
        } else {
            // The first thread works on the model itself, once the others have it.
            while (waiting > 0) std::this_thread::yield();
        }
        // What comes behind a move that changed the model will be tried again.
        for (std::size_t k = next++; k < moves.size() && k < first; k = next++) {
            if (thread == 0) watch_.look();
            if (deadline.is_past()) break;
            if (!attempt(*on, moves[k])) continue;
            changed_at[thread] = k;
            std::size_t known = first;
            while (k < known && !first.compare_exchange_weak(known, k)) {
            }
            break;
        }
    });
    for (Int thread = 1; thread < team.size(); ++thread) {
        if (changed_at[thread] < moves.size() && changed_at[thread] == first) follow(*copies_[thread]);
    }
    return first;
}

template <class Move, class Still, class Key, class Try, class Changed>
void Search::in_order(Team& team, const std::vector<Move>& moves, Still still, Key key, Try attempt, Changed changed) {
    const std::size_t limit = team.size() > 1 ? team.size() * MOVES_PER_THREAD : 1;
    // As long as moves change the model, those tried beside them are tried in vain.
    std::size_t most = limit;
    for (std::size_t next = 0; next < moves.size();) {
        watch_.look();
        if (deadline.is_over()) return;
        std::vector<Move> batch;
        std::vector<Attempt> keys;
        std::vector<std::size_t> places;
        std::size_t place = next;
        for (; place < moves.size() && batch.size() < most; ++place) {
            if (!still(moves[place])) continue;
            batch.push_back(moves[place]);
            // Of the patterns as they are before.
            keys.push_back(key(moves[place]));
            places.push_back(place);
        }
        if (batch.empty()) return;
        std::size_t first = 1;
        if (batch.size() > 1) {
            first = side_by_side(team, batch, attempt);
        } else if (attempt(*this, batch[0])) {
            first = 0;
        }
        for (std::size_t k = 0; k < batch.size() && k <= first; ++k) {
            if (!keys[k].empty()) tried_.insert(keys[k]);
        }
        bool any = first < batch.size();
        next = any ? places[first] + 1 : place;
        most = any && first == 0 ? 1 : limit;
        if (any) changed(batch[first]);
    }
}

// ---------------------------------------------------------------------- refit

bool Search::refit_one(Int s, bool trim) {
    if (model.slots[s].sort == FIXED) return false;
    double without = model.length_without(s);
    Exchange how;
    how.slack = trim ? TRIMMED * std::max(without - length, 0.0) : 0.0;
    Rows start = model.slots[s].rows;
    if (replace({s}, {start}, how)) return true;
    if (without >= length - LEAST) return false;
    model.take_out(s);
    update();
    return true;
}

void Search::refit(Team& team, bool trim) {
    std::vector<Int> waiting = model.patterns();
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        std::vector<Int> changed;
        in_order(
            team, waiting, [](Int) { return true; }, [](Int) { return Attempt{}; },
            [trim](Search& on, Int s) { return on.refit_one(s, trim); }, [&](Int s) { changed.push_back(s); });
        if (changed.empty() || deadline.was_over()) return;
        // Whoever shares cells with a pattern that changed may change as well.
        waiting = touched(changed);
        trim = false;
    }
}

std::vector<Int> Search::touched(const std::vector<Int>& changed) const {
    std::vector<Int> found;
    for (Int s : model.patterns()) {
        bool is_touched = contains(changed, s);
        for (Int t : changed) {
            if (is_touched) break;
            if (model.slots[t].used == 0) continue;
            Common common = overlap(s, t);
            is_touched = common.items > 0 && common.rows > 0;
        }
        if (is_touched) found.push_back(s);
    }
    return found;
}

// ---------------------------------------------------------------------- merge

Search::Common Search::overlap(Int s, Int t) const {
    const Pattern &one = model.slots[s], &other = model.slots[t];
    const Data& data = problem_->data;
    Common common{0, 0};
    const auto &first = one.items.numbers, &second = other.items.numbers;
    for (std::size_t j = 0, k = 0; j < first.size() && k < second.size();) {
        if (first[j] == second[k]) common.items += data.costs.weights[first[j]];
        bool next_of_first = first[j] <= second[k], next_of_second = second[k] <= first[j];
        j += next_of_first;
        k += next_of_second;
    }
    for (std::int32_t w : one.words) common.rows += data.row_weights[w] * count_ones(one.rows[w] & other.rows[w]);
    return common;
}

// The shares of common items and of common rows, of the smaller pattern, added up. What two sets of these sizes share by
// chance makes them no more similar.
double Search::similarity(Int s, Int t) const {
    const Pattern &one = model.slots[s], &other = model.slots[t];
    Common common = overlap(s, t);
    auto share = [](Int both, Int size, Int other_size, Int whole) {
        double smaller = static_cast<double>(std::min(size, other_size));
        double by_chance = std::min(static_cast<double>(size) * static_cast<double>(other_size) / whole, smaller - 1);
        return std::max(both - by_chance, 0.0) / (smaller - by_chance);
    };
    Int items = model.count_items(one.items), other_items = model.count_items(other.items);
    // Rounded, so that ties are ties.
    float of_items = static_cast<float>(share(common.items, items, other_items, problem_->n_items));
    return static_cast<float>(of_items + share(common.rows, one.used, other.used, model.n_rows()));
}

Int Search::smaller(Int s, Int t) const {
    auto area = [&](Int k) { return model.slots[k].used * model.count_items(model.slots[k].items); };
    return area(t) < area(s) ? t : s;
}

Attempt Search::attempt_on(const std::vector<Int>& patterns) const {
    Attempt attempt;
    for (Int s : patterns) attempt.emplace_back(s, model.slots[s].version);
    return attempt;
}

bool Search::try_merge(Int s, Int t, double similar) {
    Rows one = model.slots[s].rows, other = model.slots[t].rows;
    return replace_two(s, t, {joined(one, other), one, other}) || (similar >= LOOK_AHEAD && try_without(smaller(s, t)));
}

// Drop a pattern and let those that share its rows or items take over, before f is compared.
bool Search::try_without(Int s) {
    std::vector<std::pair<double, Int>> similar;
    for (Int t : model.patterns()) similar.emplace_back(-similarity(t, s), t);
    std::stable_sort(similar.begin(), similar.end(),
                     [](const auto& one, const auto& other) { return one.first < other.first; });
    std::vector<Int> nearby;
    for (std::size_t k = 0; k < std::min(similar.size(), NEARBY + 1); ++k) {
        if (similar[k].second != s && similar[k].first < 0) nearby.push_back(similar[k].second);
    }
    double before = length;
    Word n_changes = model.n_changes;
    std::vector<Int> touched{s};
    touched.insert(touched.end(), nearby.begin(), nearby.end());
    Backup kept = model.keep(touched);
    model.take_out(s);
    update();
    for (Int t : nearby) refit_one(t, false);
    if (length < before - LEAST) return true;
    for (Int t : nearby) {
        if (model.slots[t].used > 0) model.take_out(t);
    }
    model.restore(kept);
    model.n_changes = n_changes;
    length = before;
    return false;
}

bool Search::merge(Team& team) {
    struct Pair {
        Int s, t;
        double similar;
    };
    std::vector<Pair> pairs;
    std::vector<Int> on;
    // The typical row is apart.
    for (Int s : model.patterns()) {
        if (!is_typical_row(s)) on.push_back(s);
    }
    for (std::size_t j = 0; j < on.size(); ++j) {
        for (std::size_t k = j + 1; k < on.size(); ++k) {
            double similar = similarity(on[j], on[k]);
            if (static_cast<float>(similar) >= static_cast<float>(OVERLAP)) pairs.push_back({on[j], on[k], similar});
        }
    }
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const Pair& one, const Pair& other) { return one.similar > other.similar; });
    std::vector<Int> merged;
    in_order(
        team, pairs,
        [&](const Pair& pair) {
            // An earlier move may have dropped more than the two it was about.
            return model.slots[pair.s].used > 0 && model.slots[pair.t].used > 0 && !contains(merged, pair.s) &&
                   !contains(merged, pair.t) && tried_.count(attempt_on({pair.s, pair.t})) == 0;
        },
        [&](const Pair& pair) { return attempt_on({pair.s, pair.t}); },
        [](Search& search, const Pair& pair) { return search.try_merge(pair.s, pair.t, pair.similar); },
        [&](const Pair& pair) {
            merged.push_back(pair.s);
            merged.push_back(pair.t);
        });
    return !merged.empty();
}

// ---------------------------------------------------------------------- split

// The share of the items of a class that no other class which uses the pattern carries.
double Search::own_items(Int s, Int a) const {
    const Pattern& pattern = model.slots[s];
    std::vector<Int> by_class = model.rows_by_class(pattern.rows);
    Int all = 0, with_others = 0;
    for (std::size_t k = 0; k < pattern.items.size(); ++k) {
        if (!model.carries(pattern.items, k, a)) continue;
        Int weight = problem_->data.costs.weights[pattern.items.numbers[k]];
        all += weight;
        for (Int b = 0; b < problem_->data.n_classes(); ++b) {
            if (b != a && by_class[b] > 0 && model.carries(pattern.items, k, b)) {
                with_others += weight;
                break;
            }
        }
    }
    return 1 - static_cast<double>(with_others) / std::max(all, Int{1});
}

bool Search::split_one(Int s, Int a) {
    const Data& data = problem_->data;
    Rows part(data.n_words()), rest = model.slots[s].rows;
    for (Int w = data.edges[a]; w < data.edges[a + 1]; ++w) std::swap(part[w], rest[w]);
    if (!any(part) || !any(rest)) return false;
    // The pattern whose items are most like those of the class.
    Int nearest = -1, most = 0;
    for (Int t : model.patterns()) {
        if (t == s) continue;
        const Items &own = model.slots[s].items, &other = model.slots[t].items;
        Int common = 0;
        for (std::size_t k = 0; k < own.size(); ++k) {
            bool in_other = std::binary_search(other.numbers.begin(), other.numbers.end(), own.numbers[k]);
            if (in_other && model.carries(own, k, a)) common += data.costs.weights[own.numbers[k]];
        }
        if (common > most) {
            most = common;
            nearest = t;
        }
    }
    if (replace({s}, {rest, part}) || replace({s}, {rest})) return true;
    return nearest >= 0 && replace({s, nearest}, {rest, joined(part, model.slots[nearest].rows)});
}

bool Search::try_split(Int s) {
    bool changed = false;
    for (Int a = 0; a < problem_->data.n_classes(); ++a) {
        if (model.slots[s].used > 0 && own_items(s, a) >= OWN && split_one(s, a)) changed = true;
    }
    return changed;
}

bool Search::split(Team& team) {
    bool changed = false;
    in_order(
        team, model.patterns(), [&](Int s) { return tried_.count(attempt_on({s})) == 0; },
        [&](Int s) { return attempt_on({s}); }, [](Search& search, Int s) { return search.try_split(s); },
        [&](Int) { changed = true; });
    return changed;
}

// ---------------------------------------------------------------------- new patterns

void Search::fit_rows(Int s, const Items& items, Rows& rows) { fitting_.fit_rows(model, s, items, ROUNDS, rows); }

bool Search::add_fixed(const Items& items, Rows start) {
    model.make_room(1);
    Int s = model.first_empty();
    double before = length;
    fit_rows(s, items, start);
    if (!any(start)) return false;
    model.put(s, start, items);
    std::fill(model.slots[s].alike.begin(), model.slots[s].alike.end(), 0);
    model.slots[s].sort = FIXED;
    update();
    if (length < before - LEAST && pattern_evidence(s) >= -problem_->log_alpha) return true;
    model.take_out(s);
    length = before;
    return false;
}

bool Search::grow(Team& team, const std::vector<Rows>& starts, Int limit) {
    std::vector<std::size_t> places(starts.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    bool changed = false;
    in_order(
        team, places, [&](std::size_t) { return count_found() < limit; }, [](std::size_t) { return Attempt{}; },
        [&](Search& on, std::size_t k) {
            Exchange how;
            how.test = true;
            return on.replace({}, {starts[k]}, how);
        },
        [&](std::size_t) { changed = true; });
    return changed;
}

void Search::screen(Team& team, Matrix<const Word> starts, Array<double> lengths, Array<double> evidence) {
    model.make_room(1);
    Int s = model.first_empty(), c = problem_->data.n_classes();
    std::vector<std::uint8_t> may_alter(c, problem_->may_alter);
    FitRule rule{reinterpret_cast<const bool*>(may_alter.data()), false, SCREENING_ROUNDS};
    std::atomic<Int> next{0};
    std::atomic<bool> ended{false};
    // What is not looked at in time is no candidate.
    std::fill(lengths.begin(), lengths.end(), INF);
    std::fill(evidence.begin(), evidence.end(), -INF);
    team.run([&](Int thread) {
        PatternFit fitting(model, problem_->row_items);
        for (Int k = next++; k < starts.shape[0] && !ended; k = next++) {
            if (thread == 0) {
                try {
                    watch_.look();
                } catch (...) {
                    ended = true;
                    throw;
                }
                if (deadline.is_over()) ended = true;
            }
            if (ended) break;
            Rows start(starts.at(k).begin(), starts.at(k).end());
            lengths[k] = fitting.fit(model, s, start, rule);
            evidence[k] = lengths[k] < length ? evidence_of(fitting.rows, fitting.items, -1, false) : -INF;
        }
    });
}

}  // namespace saltmine
