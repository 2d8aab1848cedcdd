#include "search.hpp"

#include <algorithm>
#include <set>

namespace saltmine::likelihood {
namespace {

constexpr int FIRST_TURNS = 5, TURNS = 12, SWEEPS = 3, ROUNDS = 12, SHIFTS = 4;
constexpr std::size_t BATCH = 8;
// Nats by which a round has to make the model better, or there is no other.
constexpr double ENOUGH = 1.0;

// The last digits of values differ between systems: what differs in them only is ordered by items.
double rounded(double value) { return std::round(1e6 * value) / 1e6; }

bool comes_first(const Pattern& one, const Pattern& other) {
    const double first = rounded(one.value), second = rounded(other.value);
    return first != second ? first > second : one.items < other.items;
}

}  // namespace

Search::Search(Store store, Options options)
    : store_(std::move(store)), options_(options), chances_{{store_, 0.0}, {store_, options.class_prior}}, team_(options.n_threads) {
    deadline_.set(options.seconds, -1);
    fit_chance(20);
}

void Search::fit_chance(int sweeps) {
    chances_.of_all.fit(sweeps);
    chances_.of_classes.fit(sweeps);
}

void Search::close(const std::vector<Int>& items) {
    const Int c = store_.n_classes, n_words = store_.n_words;
    for (Int i : items) {
        Word* closed = store_.closed_cells(i);
        std::fill_n(closed, n_words, Word{0});
        if (!store_.unobserved.empty()) std::copy_n(store_.unobserved.data() + i * n_words, n_words, closed);
        for (const Pattern& pattern : patterns_) {
            auto at = std::lower_bound(pattern.items.begin(), pattern.items.end(), i);
            if (at == pattern.items.end() || *at != i) continue;
            const Int k = at - pattern.items.begin();
            for (Int h = 0; h < store_.n_strata(); ++h) {
                if (!pattern.has(k, store_.class_of[h], c)) continue;
                for (Int w = store_.edges[h]; w < store_.edges[h + 1]; ++w) closed[w] |= pattern.rows[w];
            }
        }
        count(i);
        chances_.of_all.fit_item(i);
        chances_.of_classes.fit_item(i);
    }
}

// Count the cells of an item: those that a pattern explains perhaps count in part for the rates of chance.
void Search::count(Int i) {
    chances_.of_all.recount(i);
    chances_.of_classes.recount(i);
    for (const Pattern& pattern : patterns_) {
        const auto at = std::lower_bound(pattern.items.begin(), pattern.items.end(), i);
        if (pattern.doubt <= 0 || at == pattern.items.end() || *at != i) continue;
        for (Int h = 0; h < store_.n_strata(); ++h) {
            if (!pattern.has(at - pattern.items.begin(), store_.class_of[h], store_.n_classes)) continue;
            double ones = 0, cells = 0;
            for (Int w = store_.edges[h]; w < store_.edges[h + 1]; ++w) {
                const Word used = store_.unobserved.empty() ? pattern.rows[w] : pattern.rows[w] & ~store_.unobserved[i * store_.n_words + w];
                cells += static_cast<double>(count_ones(used));
                ones += static_cast<double>(count_ones(used & store_.column(i)[w]));
            }
            for (Chance* chance : {&chances_.of_all, &chances_.of_classes}) {
                chance->add_doubtful(i, h, pattern.doubt * ones, pattern.doubt * cells);
            }
        }
    }
}

void Search::add(Pattern pattern) {
    const std::vector<Int> items = pattern.items;
    patterns_.push_back(std::move(pattern));
    close(items);
}

Pattern Search::take(std::size_t s) {
    Pattern taken = std::move(patterns_[s]);
    patterns_.erase(patterns_.begin() + static_cast<std::ptrdiff_t>(s));
    close(taken.items);
    return taken;
}

// Fit starts, some at a time, and leave out those that lead where others have led; the best is first.
std::vector<Pattern> Search::fit_all(std::vector<Pattern> starts, int turns) {
    std::vector<Pattern> found;
    std::set<std::vector<Int>> seen;
    std::size_t begin = 0;
    while (begin < starts.size() && !is_over()) {
        std::vector<std::size_t> batch;
        for (; begin < starts.size() && batch.size() < BATCH; ++begin) {
            if (!is_led(starts[begin], found)) batch.push_back(begin);
        }
        std::vector<char> fitted(batch.size(), 0);
        std::atomic<std::size_t> next{0};
        team_.run([&](Int thread) {
            Fitter fitter(store_, chances_, options_.alterations);
            for (std::size_t k = next++; k < batch.size(); k = next++) {
                Pattern& start = starts[batch[k]];
                fitted[k] = fitter.fit(start, turns) && start.value > needed();
                if (thread == 0) watch_.look();
            }
        });
        for (std::size_t k = 0; k < batch.size(); ++k) {
            if (fitted[k] && seen.insert(starts[batch[k]].items).second) found.push_back(std::move(starts[batch[k]]));
        }
    }
    std::sort(found.begin(), found.end(), comes_first);
    return found;
}

// Whether a start is part of a pattern that was found: its items, or most of its rows.
bool Search::is_led(const Pattern& start, const std::vector<Pattern>& found) const {
    for (const Pattern& pattern : found) {
        if (start.rows.empty()) {
            if (std::includes(pattern.items.begin(), pattern.items.end(), start.items.begin(), start.items.end())) return true;
            continue;
        }
        Int both = 0, rows = 0;
        for (Int w = 0; w < store_.n_words; ++w) {
            both += count_ones(start.rows[w] & pattern.rows[w]);
            rows += count_ones(start.rows[w]);
        }
        const Int used = store_.count_rows(pattern.rows.data());
        if (2 * both > std::min(rows, used)) return true;
    }
    return false;
}

// Strata by what the patterns leave open.
void Search::stratify(std::vector<Pattern>& others) {
    std::vector<Words*> sets;
    for (Pattern& pattern : patterns_) sets.push_back(&pattern.rows);
    for (Pattern& pattern : others) sets.push_back(&pattern.rows);
    store_.stratify(sets);
    chances_.of_all.restart();
    chances_.of_classes.restart();
    std::set<Int> items;
    for (const Pattern& pattern : patterns_) items.insert(pattern.items.begin(), pattern.items.end());
    for (Int i : items) count(i);
    fit_chance(SHIFTS);
}

// Add the best of what is found from new starts, one after the other; whether there were any.
bool Search::grow(bool within) {
    std::vector<Pattern> starts = find_starts(store_, chances_.of(within, true), team_);
    starts.insert(starts.begin(), given_.begin(), given_.end());
    given_.clear();
    for (Pattern& start : starts) start.within = within;
    std::vector<Pattern> queue = fit_all(std::move(starts), FIRST_TURNS);
    Fitter fitter(store_, chances_, options_.alterations);
    std::size_t version = 0, before = patterns_.size();
    std::vector<std::size_t> versions(queue.size(), 0);
    // A candidate that was fitted before the last pattern was added is fitted again before it is believed.
    while (!queue.empty() && static_cast<Int>(patterns_.size()) < options_.max_patterns && !is_over()) {
        if (versions.front() == version) {
            add(std::move(queue.front()));
            queue.erase(queue.begin());
            versions.erase(versions.begin());
            ++version;
            continue;
        }
        Pattern candidate = std::move(queue.front());
        queue.erase(queue.begin());
        versions.erase(versions.begin());
        if (!fitter.fit(candidate, TURNS) || candidate.value <= needed()) continue;
        const auto at = std::lower_bound(queue.begin(), queue.end(), candidate, comes_first);
        versions.insert(versions.begin() + (at - queue.begin()), version);
        queue.insert(at, std::move(candidate));
    }
    return patterns_.size() > before;
}

// The first of the patterns within classes, or of those after them.
std::size_t Search::first_of(bool within) const {
    std::size_t s = 0;
    while (s < patterns_.size() && patterns_[s].within != within) ++s;
    return s;
}

// Fit every pattern again, given all others; whether something has changed.
bool Search::refit(bool within) {
    bool changed = false;
    Fitter fitter(store_, chances_, options_.alterations);
    const std::size_t first = first_of(within);
    for (std::size_t left = patterns_.size() - first; left > 0 && !is_over(); --left) {
        Pattern pattern = take(first);
        const std::vector<Int> items = pattern.items;
        const bool fits = fitter.fit(pattern, TURNS) && pattern.value > needed();
        changed |= !fits || pattern.items != items;
        if (fits) add(std::move(pattern));
    }
    fit_chance(2);
    return changed;
}

// Replace two patterns by one that gains more than both.
bool Search::merge(bool within) {
    bool changed = false;
    Fitter fitter(store_, chances_, options_.alterations);
    for (std::size_t s = first_of(within); s < patterns_.size() && !is_over(); ++s) {
        for (std::size_t t = s + 1; t < patterns_.size() && !is_over(); ++t) {
            const Pattern &one = patterns_[s], &other = patterns_[t];
            Int both = 0, least = std::min(store_.count_rows(one.rows.data()), store_.count_rows(other.rows.data()));
            for (Int w = 0; w < store_.n_words; ++w) both += count_ones(one.rows[w] & other.rows[w]);
            std::vector<Int> common;
            std::set_intersection(one.items.begin(), one.items.end(), other.items.begin(), other.items.end(),
                                  std::back_inserter(common));
            const Int fewest = std::min(one.size(), other.size());
            if (2 * both < least && 2 * static_cast<Int>(common.size()) < fewest) continue;
            if (apart_.count({one.items, other.items})) continue;
            Pattern second = take(t), first = take(s);
            // Both again, given the rest, in turn.
            fitter.fit(first, TURNS);
            add(first);
            const bool fits = fitter.fit(second, TURNS);
            const double apart = first.value + (fits ? std::max(second.value, 0.0) : 0.0);
            take(patterns_.size() - 1);
            Pattern merged;
            merged.within = within;
            merged.rows = first.rows;
            for (Int w = 0; w < store_.n_words; ++w) {
                merged.rows[w] |= second.rows[w];
            }
            if (fitter.fit(merged, TURNS) && merged.value > apart) {
                patterns_.insert(patterns_.begin() + static_cast<std::ptrdiff_t>(s), merged);
                close(merged.items);
                changed = true;
                t = s;
                continue;
            }
            apart_.insert({first.items, second.items});
            patterns_.insert(patterns_.begin() + static_cast<std::ptrdiff_t>(s), first);
            close(first.items);
            if (fits && second.value > needed()) {
                patterns_.insert(patterns_.begin() + static_cast<std::ptrdiff_t>(t), second);
                close(second.items);
            } else {
                changed = true;
                --t;
            }
        }
    }
    return changed;
}

// Replace a pattern by two that gain more: of one half of its rows and of what is left, or of two groups of its items.
bool Search::split(bool within) {
    bool changed = false;
    Fitter fitter(store_, chances_, options_.alterations);
    const std::size_t end = patterns_.size();
    for (std::size_t s = first_of(within); s < end && !is_over(); ++s) {
        if (patterns_[s].whole) continue;
        Pattern pattern = take(s);
        // Its worth may be of other strata, and of other patterns beside it.
        const Pattern before = pattern;
        if (!fitter.fit(pattern, TURNS)) pattern = before;
        const Halves halves = halve(store_, pattern);
        Pattern by_rows[2], by_items[2];
        by_rows[0].rows = halves.rows;
        by_rows[1].rows = pattern.rows;
        for (Int w = 0; w < store_.n_words; ++w) by_rows[1].rows[w] &= ~halves.rows[w];
        for (int half : {0, 1}) {
            by_rows[half].within = by_items[half].within = within;
            by_items[half].items = halves.items[half];
        }
        const bool few = halves.items[0].size() < 2 || halves.items[1].size() < 2;
        if (gain_more(fitter, by_rows, pattern.value)) {
            add(std::move(by_rows[1]));
            pattern = std::move(by_rows[0]);
            changed = true;
        } else if (!few && gain_more(fitter, by_items, pattern.value)) {
            add(std::move(by_items[1]));
            pattern = std::move(by_items[0]);
            changed = true;
        } else {
            pattern.whole = true;
        }
        const std::vector<Int> items = pattern.items;
        patterns_.insert(patterns_.begin() + static_cast<std::ptrdiff_t>(s), std::move(pattern));
        close(items);
    }
    return changed;
}

// Fit two patterns, the second beside the first; whether they gain more than so much.
bool Search::gain_more(Fitter& fitter, Pattern (&halves)[2], double value) {
    if (!fitter.fit(halves[0], TURNS) || halves[0].value <= needed()) return false;
    const double first = halves[0].value;
    add(halves[0]);
    const bool fits = fitter.fit(halves[1], TURNS) && halves[1].value > needed();
    take(patterns_.size() - 1);
    return fits && first + halves[1].value > value;
}

// Keep the patterns that pass, each given those before it: the one with the largest evidence is first.
void Search::test() {
    std::vector<Pattern> left = std::move(patterns_);
    patterns_.clear();
    evidence_.clear();
    std::set<Int> items;
    for (const Pattern& pattern : left) items.insert(pattern.items.begin(), pattern.items.end());
    close({items.begin(), items.end()});
    stratify(left);
    // What a pattern shows falls, as a rule, as others explain its cells: only the first is looked at again.
    using Shown = std::pair<double, std::size_t>;
    std::vector<Shown> queue(left.size());
    std::atomic<std::size_t> next{0};
    team_.run([&](Int) {
        Fitter fitter(store_, chances_, options_.alterations);
        for (std::size_t k = next++; k < left.size(); k = next++) queue[k] = {-rounded(fitter.evidence(left[k])), k};
    });
    // With cells closed whose rows were chosen as they have them, what is left may look as if it went together: a pattern
    // shows no more beside others than alone.
    Doubles alone(left.size());
    for (const Shown& one : queue) alone[one.second] = -one.first;
    // Those within classes before those of classes.
    const auto is_before = [&](const Shown& one, const Shown& other) {
        if (left[one.second].within != left[other.second].within) return left[one.second].within;
        return one < other;
    };
    std::sort(queue.begin(), queue.end(), is_before);
    Fitter fitter(store_, chances_, options_.alterations);
    std::size_t known = queue.size();
    while (!queue.empty()) {
        watch_.look();
        auto [shown, k] = queue.front();
        queue.erase(queue.begin());
        if (known != k && !patterns_.empty()) {
            shown = -std::min(rounded(fitter.evidence(left[k])), alone[k]);
            known = k;
            queue.insert(std::lower_bound(queue.begin(), queue.end(), Shown{shown, k}, is_before), {shown, k});
            continue;
        }
        if (-shown <= 0) continue;
        evidence_.push_back(-shown);
        add(left[k]);
        left[k].rows.clear();
        stratify(left);
        known = left.size();
    }
    // The k best stay if all of them have evidence of 1 / (alpha k): the share of false ones is at most alpha.
    const auto enough = [&](std::size_t k) { return options_.least - std::log(static_cast<double>(k)); };
    std::size_t stay = patterns_.size();
    const auto count = [&](double least) { return std::count_if(evidence_.begin(), evidence_.end(), [=](double e) { return e > least; }); };
    while (stay > 0 && static_cast<std::size_t>(count(enough(stay))) < stay) --stay;
    for (std::size_t s = patterns_.size(); s-- > 0;) {
        if (stay > 0 && evidence_[s] > enough(stay)) continue;
        take(s);
        evidence_.erase(evidence_.begin() + static_cast<std::ptrdiff_t>(s));
    }
}

double Search::needed() const {
    return std::max(options_.least - std::log(1.0 + static_cast<double>(patterns_.size())), 0.5);
}

double Search::evidence_of(const std::vector<Int>& items) {
    Pattern pattern;
    pattern.items = items;
    pattern.within = false;
    pattern.strengths.assign(items.size(), 0.7);
    pattern.in_class.assign(items.size() * store_.n_classes, 1);
    return Fitter(store_, chances_, options_.alterations).evidence(pattern);
}

void Search::start_from(const std::vector<Int>& rows) {
    Pattern start;
    start.rows.assign(store_.n_words, 0);
    for (Int j : rows) start.rows[store_.places[j] / 64] |= Word{1} << store_.places[j] % 64;
    given_.push_back(std::move(start));
}

// Whether there is a pattern with the items of each of these.
bool Search::has_all(const std::vector<Pattern>& patterns) const {
    return std::all_of(patterns.begin(), patterns.end(), [&](const Pattern& one) {
        return std::any_of(patterns_.begin(), patterns_.end(), [&](const Pattern& other) { return other.items == one.items; });
    });
}

// The log-likelihood of all cells and of what rows use, less what patterns cost. It compares models of different patterns,
// which their own values do not: these are of one pattern given all others.
double Search::objective(bool within) const {
    const Int c = store_.n_classes, n_strata = store_.n_strata(), n_words = store_.n_words;
    const auto length = [](double ones, double cells) {
        const double rate = (ones + 0.5) / (cells + 1);
        return ones * std::log(rate) + (cells - ones) * std::log1p(-rate);
    };
    const Chance& chance = chances_.of(within, true);
    double nats = 0;
    for (Int i = 0; i < store_.n_items; ++i) {
        for (Int h = 0; h < n_strata; ++h) {
            const Count& count = chance.counts(i)[h];
            nats += static_cast<double>(count.ones) * chance.log_p(i)[h] + static_cast<double>(count.cells - count.ones) * chance.log_q(i)[h];
        }
    }
    // A cell belongs to the first pattern that has it.
    Words owned(store_.n_items * n_words, 0);
    for (const Pattern& pattern : patterns_) {
        for (Int k = 0; k < pattern.size(); ++k) {
            const Int i = pattern.items[k];
            const Word* unobserved = store_.unobserved.empty() ? nullptr : store_.unobserved.data() + i * n_words;
            double ones = 0, cells = 0;
            for (Int h = 0; h < n_strata; ++h) {
                if (!pattern.has(k, store_.class_of[h], c)) continue;
                for (Int w = store_.edges[h]; w < store_.edges[h + 1]; ++w) {
                    Word& before = owned[i * n_words + w];
                    const Word own = pattern.rows[w] & ~before & (unobserved ? ~unobserved[w] : ~Word{0});
                    before |= own;
                    cells += static_cast<double>(count_ones(own));
                    ones += static_cast<double>(count_ones(own & store_.column(i)[w]));
                }
            }
            nats += length(ones, cells);
        }
        for (Int h = 0; h < n_strata; ++h) {
            nats += length(static_cast<double>(store_.count_rows(pattern.rows.data(), h)), static_cast<double>(store_.sizes[h]));
        }
        nats -= price_of_items(store_, pattern) + 0.5 * static_cast<double>(pattern.size());
    }
    return nats;
}

// One round of moves after the other as long as the model becomes better; each goes on from the best one before.
void Search::improve(bool within) {
    for (int round = 0; round < ROUNDS && !is_over(); ++round) {
        std::vector<Pattern> none;
        if (round > 0 || !within) stratify(none);
        const std::vector<Pattern> before = patterns_;
        std::vector<Pattern> best = patterns_;
        double highest = objective(within) + ENOUGH;
        bool is_better = false;
        const auto look = [&] {
            const double value = objective(within);
            if (value <= highest) return;
            highest = value;
            best = patterns_;
            is_better = true;
        };
        if (!grow(within)) break;
        for (int sweep = 0; sweep < SWEEPS && refit(within); ++sweep) {}
        // A round that only adds is one forward: each pattern was worth its price beside the others.
        const bool only_adds = patterns_.size() > before.size() && has_all(before);
        if (only_adds) best = patterns_, is_better = true;
        look();
        for (int sweep = 0; sweep < SWEEPS && merge(within); ++sweep) refit(within);
        look();
        for (int sweep = 0; sweep < SWEEPS && split(within); ++sweep) refit(within);
        look();
        replace(std::move(best));
        if (!is_better) break;
    }
}

// Take these patterns instead of those that there are.
void Search::replace(std::vector<Pattern> patterns) {
    std::set<Int> items;
    for (const std::vector<Pattern>* all : {&patterns_, &patterns}) {
        for (const Pattern& pattern : *all) items.insert(pattern.items.begin(), pattern.items.end());
    }
    patterns_ = std::move(patterns);
    close({items.begin(), items.end()});
    fit_chance(2);
}

void Search::run() {
    improve(true);
    if (store_.n_classes > 1) improve(false);
    test();
}

}  // namespace saltmine::likelihood
