#include "pattern.hpp"

#include <algorithm>
#include <array>

namespace saltmine::likelihood {
namespace {

// Rates of use in the rows of a stratum, of a class or of all, which are averaged.
constexpr double RATES[] = {0.0, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95};
constexpr int N_RATES = 10;
// Powers of the size of rows that use may grow with.
constexpr double POWERS[] = {0.0, 1.0, 2.0};
// Strengths of the evidence, which are averaged as well.
constexpr double STRENGTHS[] = {0.2, 0.45, 0.65, 0.8, 0.92, 0.98};
constexpr int N_STRENGTHS = 6;
// The strength of an item is drawn to that of the pattern as by this many cells.
constexpr double STRENGTH_PRIOR = 30.0;
constexpr double WEAKEST = 0.05, STRONGEST = 0.995;
constexpr Int FEWEST_ROWS = 3, FEWEST_ITEMS = 2, FEW = 4, MOST_KINDS = 81;
// Share of the price of the choice of classes that an item of some of them has to gain: what they add is tested later.
constexpr double SUBSET_SHARE = 0.4;
// Strengths of items are at least this share of those of the stronger ones.
constexpr double LEAST_SHARE = 0.45;
// The least strength of an item in the rows of a start, which are not all users.
constexpr double FIRST_STRENGTH = 0.3;
// Above these nats e^x is taken for e^x + 1.
constexpr double MUCH = 30.0;
// Strengths of patterns of few items: rows that use them have most of them.
constexpr double FEW_STRENGTHS[] = {0.65, 0.8, 0.92, 0.98};

// What chance makes of a cell without the part that a pattern explains, so that the item is as frequent as before.
double without(double p, double rate, double strength) {
    const double explained = rate * strength;
    return std::max((p - explained) / (1 - explained), std::min(0.15 * p, 0.02));
}

double log_mean_exp(const double* values, Int n) {
    const double most = *std::max_element(values, values + n);
    double sum = 0;
    for (Int k = 0; k < n; ++k) sum += std::exp(values[k] - most);
    return most + std::log(sum / static_cast<double>(n));
}

// Count the rows of a word by what they have of some items, whose open ones and open cells are given in turn.
void count_kinds(const std::vector<Words>& cells, Int k, Int w, Word rows, Int code, Int* counts) {
    if (rows == 0) return;
    if (k == 0) {
        counts[code] += count_ones(rows);
        return;
    }
    --k;
    const Word ones = cells[2 * k][w], open = cells[2 * k + 1][w];
    count_kinds(cells, k, w, rows & ones, 3 * code + 2, counts);
    count_kinds(cells, k, w, rows & open & ~ones, 3 * code + 1, counts);
    count_kinds(cells, k, w, rows & ~open, 3 * code, counts);
}

double log_beta(double a, double b) { return log_gamma(a) + log_gamma(b) - log_gamma(a + b); }

// Nats of ones and zeros whose rate is drawn from a distribution around that of the pattern.
double nats_around(double ones, double zeros, double density, double prior) {
    const double a = prior * density, b = prior * (1 - density);
    return log_beta(ones + a, zeros + b) - log_beta(a, b);
}

// What rows that do not use a pattern gain as the part of an item's ones that it explains is taken out of chance.
double gain_of_rest(const ClassSums& sums) {
    if (sums.rest_cells <= 0 || sums.rest_ones >= sums.rest_expected) return 0;
    const double mean = sums.rest_expected / sums.rest_cells;
    const double rest = std::max((sums.rest_ones + 0.5 * mean) / (sums.rest_cells + 0.5), std::min(0.15 * mean, 0.02));
    if (rest >= mean) return 0;
    return sums.rest_ones * std::log(rest / mean) + (sums.rest_cells - sums.rest_ones) * std::log((1 - rest) / (1 - mean));
}

}  // namespace

Int count_class_items(const Pattern& pattern, Int n_classes) {
    Int count = 0;
    for (Int k = 0; k < pattern.size(); ++k) count += !pattern.is_shared(k, n_classes);
    return count;
}

double subset_price(Int n_classes) {
    return n_classes < 2 ? 0.0 : std::log(std::exp2(std::min<double>(n_classes, 30)) - 2) + 0.7;
}

double price_of_items(const Store& store, const Pattern& pattern) {
    double codes = 0;
    for (Int i : pattern.items) codes += store.codes[i];
    // Of sizes from two on, with weights 1 / (k (k - 1)), instead of from one on.
    const double k = static_cast<double>(pattern.size());
    return item_choices(store.n_items, pattern.size(), codes) + std::log((k - 1) / (k + 1)) +
           count_class_items(pattern, store.n_classes) * subset_price(store.n_classes);
}

Fitter::Fitter(const Store& store, const Chances& chances, bool alterations)
    : store_(store), chances_(chances), alterations_(alterations && store.n_classes > 1) {}

// What the rows of every class that use a pattern, and those that do not, have of an item.
void Fitter::sum_classes(Int i, const Chance& chance, const Doubles& rates, double density) {
    const double *p = chance.p(i), *log_p = chance.log_p(i), *log_q = chance.log_q(i);
    const Count* all = chance.counts(i);
    of_classes_.assign(store_.n_classes, {});
    for (Int h = 0; h < store_.n_strata(); ++h) {
        ClassSums& sums = of_classes_[store_.class_of[h]];
        const double ones = used_[h].ones, cells = used_[h].cells, rest = all[h].cells - used_[h].cells;
        sums.rest_ones += all[h].ones - used_[h].ones;
        sums.rest_cells += rest;
        sums.rest_expected += rest * p[h];
        if (cells == 0) continue;
        sums.ones += ones;
        sums.cells += cells;
        sums.expected += cells * p[h];
        sums.nats += ones * log_p[h] + (cells - ones) * log_q[h];
        sums.base += cells * without(p[h], rates[h], density);
    }
}

// Whether rows that use a pattern have clearly less of an item than chance makes.
bool Fitter::is_rare(Int i, const Chance& chance) const {
    const double* p = chance.p(i);
    double surplus = 0;
    for (Int h = 0; h < store_.n_strata(); ++h) {
        surplus += static_cast<double>(used_[h].ones) - static_cast<double>(used_[h].cells) * p[h];
    }
    return surplus < -1e-6;
}

// What users gain from an item, and others from its being less frequent in them, less its price.
Fitter::Choice Fitter::weigh_item(const ClassSums& sums, double rest_gain, const ItemPrior& prior, double price) const {
    Choice choice;
    if (sums.cells < 1 || sums.ones <= sums.expected) return choice;
    // Users have the item about as often as those of the pattern in general, beside chance.
    const double base = sums.base / sums.cells, mean = 1 - (1 - base) * (1 - prior.density);
    const double zeros = sums.cells - sums.ones;
    const double rate = std::clamp((sums.ones + prior.cells * mean) / (sums.cells + prior.cells), 0.03, 0.997);
    const double strength = (rate - base) / (1 - base);
    if (strength < prior.least) return choice;
    const double gain = rest_gain - price - sums.nats;
    if (gain + sums.ones * std::log(rate) + zeros * std::log1p(-rate) <= 0) return choice;
    choice.gain = gain + nats_around(sums.ones, zeros, mean, prior.cells);
    choice.strength = std::clamp(strength, WEAKEST, STRONGEST);
    return choice;
}

// The best of the ways in which classes may add an item: those whose users have it most often.
Fitter::Choice Fitter::alter(const ItemPrior& prior, double price) {
    const Int c = store_.n_classes;
    std::vector<Int> order;
    for (Int a = 0; a < c; ++a) {
        if (of_classes_[a].ones > of_classes_[a].expected) order.push_back(a);
    }
    const auto share = [&](Int a) { return of_classes_[a].ones / of_classes_[a].cells; };
    std::stable_sort(order.begin(), order.end(), [&](Int a, Int b) { return share(a) > share(b); });
    ClassSums sums;
    Choice best;
    double rest_gain = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
        sums += of_classes_[order[k]];
        rest_gain += gain_of_rest(of_classes_[order[k]]);
        Choice choice = weigh_item(sums, rest_gain, prior, price);
        if (choice.gain <= best.gain) continue;
        best = choice;
        best.in.assign(c, 0);
        for (std::size_t l = 0; l <= k; ++l) best.in[order[l]] = 1;
    }
    return best;
}

// Leave out items that are much weaker than the stronger ones: they are of other patterns, which some of the rows use as well.
void leave_weak(Pattern& pattern, Int n_classes) {
    if (pattern.size() < 2) return;
    Doubles sorted = pattern.strengths;
    const auto at = sorted.begin() + 3 * (pattern.size() - 1) / 4;
    std::nth_element(sorted.begin(), at, sorted.end());
    const double least = LEAST_SHARE * *at;
    Int kept = 0;
    for (Int k = 0; k < pattern.size(); ++k) {
        if (pattern.strengths[k] < least) continue;
        pattern.items[kept] = pattern.items[k];
        pattern.strengths[kept] = pattern.strengths[k];
        std::copy_n(pattern.in_class.begin() + k * n_classes, n_classes, pattern.in_class.begin() + kept * n_classes);
        ++kept;
    }
    pattern.items.resize(kept);
    pattern.strengths.resize(kept);
    pattern.in_class.resize(kept * n_classes);
}

// Items that gain more than they cost among the rows of the pattern; false if there are too few of them.
bool Fitter::choose_items(Pattern& pattern, double density, bool first, const Doubles& rates) {
    const Int n = store_.n_items, c = store_.n_classes, n_strata = store_.n_strata();
    const double size = std::max<double>(2, pattern.size());
    const double price = std::max(0.2, std::log(std::max(n - size, 1.0) / size)) + 0.3;
    std::vector<char> active(c, 0);
    for (Int h = 0; h < n_strata; ++h) active[store_.class_of[h]] |= store_.count_rows(pattern.rows.data(), h) > 0;
    const Int n_active = std::count(active.begin(), active.end(), 1);
    const double class_price = price + SUBSET_SHARE * subset_price(n_active);
    const bool may_alter = alterations_ && n_active > 1;
    // Rows that a start brings are not all users, so that items seem weaker than they are.
    const ItemPrior prior = first ? ItemPrior{density, 1.0, FIRST_STRENGTH}
                                  : ItemPrior{density, STRENGTH_PRIOR, 0.0};
    used_.resize(n_strata);
    Pattern chosen;
    for (Int i = 0; i < n; ++i) {
        store_.count(i, pattern.rows.data(), used_.data());
        if (is_rare(i, chances_.of(pattern.within, true))) continue;
        sum_classes(i, chances_.of(pattern.within, true), rates, density);
        ClassSums sums;
        double rest_gain = 0;
        for (const ClassSums& of_class : of_classes_) {
            sums += of_class;
            if (pattern.within) rest_gain += gain_of_rest(of_class);
        }
        if (sums.ones <= sums.expected) continue;
        // Where chance knows no classes, one of them may have less of an item whatever the pattern is.
        if (!pattern.within) rest_gain = gain_of_rest(sums);
        Choice choice = weigh_item(sums, rest_gain, prior, price);
        choice.in.assign(c, 1);
        if (may_alter) {
            if (!pattern.within) sum_classes(i, chances_.of_classes, rates, density);
            Choice some = alter(prior, class_price);
            if (some.gain > choice.gain) choice = std::move(some);
        }
        if (choice.gain <= 0) continue;
        chosen.items.push_back(i);
        chosen.in_class.insert(chosen.in_class.end(), choice.in.begin(), choice.in.end());
        chosen.strengths.push_back(choice.strength);
    }
    leave_weak(chosen, c);
    const Int n_shared = chosen.size() - count_class_items(chosen, c);
    std::vector<Int> n_added(c, 0);
    for (Int k = 0; k < chosen.size(); ++k) {
        if (chosen.is_shared(k, c)) continue;
        for (Int a = 0; a < c; ++a) n_added[a] += chosen.has(k, a, c);
    }
    const Int most = std::max_element(n_added.begin(), n_added.end()) - n_added.begin();
    if (n_added[most] > n_shared) {
        // Classes that share less than they add have patterns of their own.
        for (Int h = 0; h < n_strata; ++h) {
            if (store_.class_of[h] != most) std::fill_n(pattern.rows.begin() + store_.edges[h], store_.edges[h + 1] - store_.edges[h], 0);
        }
        if (store_.count_rows(pattern.rows.data()) < FEWEST_ROWS) return false;
        return choose_items(pattern, density, first, rates);
    }
    if (n_shared < FEWEST_ITEMS) return false;
    chosen.rows = std::move(pattern.rows);
    chosen.within = pattern.within;
    chosen.whole = pattern.whole && chosen.items == pattern.items;
    pattern = std::move(chosen);
    return true;
}

// What is known of the cells of a pattern, for every stratum; what a class does not have counts for nothing.
void Fitter::gather(const Pattern& pattern, const Doubles& strengths) {
    const Int k = pattern.size(), c = store_.n_classes, n_strata = store_.n_strata();
    const Int n = (n_strata * k + 7) / 8 * 8;
    for (Doubles* of_cells : {&p_, &strengths_}) of_cells->assign(n, 0.5);
    for (Doubles* of_cells : {&log_p_, &log_q_, &ones_, &zeros_, &rates_}) of_cells->assign(n, 0.0);
    for (Doubles* of_cells : {&log_left_, &log_left_q_, &log_covered_}) of_cells->resize(n);
    log_miss_.resize(k);
    for (Int s = 0; s < k; ++s) {
        const Int i = pattern.items[s];
        const Chance& chance = chances_.of(pattern.within, pattern.is_shared(s, c));
        const double *p = chance.p(i), *log_p = chance.log_p(i), *log_q = chance.log_q(i);
        const Count* counts = chance.counts(i);
        log_miss_[s] = std::log(1 - strengths[s]);
        for (Int h = 0; h < n_strata; ++h) {
            const Int cell = h * k + s;
            p_[cell] = p[h];
            log_p_[cell] = log_p[h];
            log_q_[cell] = log_q[h];
            strengths_[cell] = strengths[s];
            if (!pattern.has(s, store_.class_of[h], c)) continue;
            ones_[cell] = static_cast<double>(counts[h].ones);
            zeros_[cell] = static_cast<double>(counts[h].cells - counts[h].ones);
        }
    }
}

// What the pattern leaves of chance, if strata use it at these rates. What open cells of a stratum lose or gain by that,
// against chance, is kept beside.
void Fitter::explain(Int size, const Doubles& rates) {
    const Int n_strata = store_.n_strata();
    for (Int h = 0; h < n_strata; ++h) std::fill_n(rates_.begin() + h * size, size, rates[h]);
    kernels->explain({p_.data(), rates_.data(), strengths_.data()}, static_cast<Int>(p_.size()), log_left_.data(),
                     log_left_q_.data(), log_covered_.data());
    unexplained_.assign(n_strata, 0.0);
    for (Int h = 0; h < n_strata; ++h) {
        for (Int cell = h * size; cell < (h + 1) * size; ++cell) {
            unexplained_[h] += ones_[cell] * (log_left_[cell] - log_p_[cell]) +
                               zeros_[cell] * (log_left_q_[cell] - log_q_[cell]);
        }
    }
}

// Open ones and open cells of the items, in strata where some cells are closed, or in all; of classes that have the item.
void Fitter::open_items(const Pattern& pattern, bool all) {
    const Int k = pattern.size(), c = store_.n_classes;
    // Strata, and with them the words, may have changed.
    if (!cells_.empty() && static_cast<Int>(cells_[0].size()) != store_.n_words) cells_.clear();
    while (static_cast<Int>(cells_.size()) < 2 * k) cells_.emplace_back(store_.n_words);
    for (Int s = 0; s < k; ++s) {
        const Word *column = store_.column(pattern.items[s]), *closed = store_.closed_cells(pattern.items[s]);
        Words &ones = cells_[2 * s], &open = cells_[2 * s + 1];
        for (Int h = 0; h < store_.n_strata(); ++h) {
            const bool has = pattern.has(s, store_.class_of[h], c);
            const double n_open = ones_[h * k + s] + zeros_[h * k + s];
            if (!all && (!has || n_open == static_cast<double>(store_.sizes[h]))) continue;
            for (Int w = store_.edges[h]; w < store_.edges[h + 1]; ++w) {
                open[w] = has ? store_.mask[w] & ~closed[w] : 0;
                ones[w] = open[w] & column[w];
            }
        }
    }
}

// Which rows have which of the items of a pattern that was gathered.
void Fitter::list_terms(const Pattern& pattern) {
    const Int k = pattern.size(), c = store_.n_classes;
    open_items(pattern, false);
    terms_.clear();
    term_cells_.clear();
    term_edges_.assign(1, 0);
    constants_.assign(store_.n_strata(), 0.0);
    for (Int h = 0; h < store_.n_strata(); ++h) {
        for (Int s = 0; s < k; ++s) {
            if (!pattern.has(s, store_.class_of[h], c)) continue;
            const Int cell = h * k + s;
            term_cells_.push_back(cell);
            if (ones_[cell] + zeros_[cell] == static_cast<double>(store_.sizes[h])) {
                constants_[h] += log_miss_[s];
                terms_.push_back({store_.column(pattern.items[s]), nullptr, 0, 0.0});
                continue;
            }
            terms_.push_back({cells_[2 * s].data(), nullptr, 0, 0.0});
            term_cells_.push_back(-1 - s);
            terms_.push_back({cells_[2 * s + 1].data(), nullptr, 0, 0.0});
        }
        term_edges_.push_back(static_cast<Int>(terms_.size()));
    }
}

// What use is worth to every row, against not using: log p1 / p0 for ones, log(1 - strength) for zeros; of listed terms,
// as they were explained last.
void Fitter::weigh(Int size) {
    ratios_.resize(64 * store_.n_words);
    for (std::size_t t = 0; t < terms_.size(); ++t) {
        const Int cell = term_cells_[t];
        terms_[t].worth = cell < 0 ? log_miss_[-1 - cell] : log_covered_[cell] - log_left_[cell] - log_miss_[cell % size];
    }
    for (Int h = 0; h < store_.n_strata(); ++h) {
        kernels->weigh_first(terms_.data() + term_edges_[h], term_edges_[h + 1] - term_edges_[h], store_.edges[h],
                             store_.sizes[h], constants_[h], ratios_.data());
    }
}

// Which rows have the same of few items of a pattern that was gathered, counted once for each stratum.
void Fitter::list_kinds(const Pattern& pattern) {
    const Int k = pattern.size();
    open_items(pattern, true);
    kinds_.clear();
    Int counts[MOST_KINDS] = {};
    for (Int h = 0; h < store_.n_strata(); ++h) {
        for (Int w = store_.edges[h]; w < store_.edges[h + 1]; ++w) count_kinds(cells_, k, w, store_.mask[w], 0, counts);
        for (Int code = 0; code < MOST_KINDS; ++code) {
            if (counts[code] > 0) kinds_.push_back({h, code, counts[code]});
            counts[code] = 0;
        }
    }
    kind_ratios_.assign((kinds_.size() + 7) / 8 * 8, 0.0);
}

// Log-likelihood ratios of the strata at a rate of use, by the kinds of rows.
void Fitter::sum_kinds(Int size, double rate, double* sums) {
    for (std::size_t q = 0; q < kinds_.size(); ++q) {
        double ratio = 0;
        Int code = kinds_[q].code;
        for (Int s = 0; s < size; ++s, code /= 3) {
            const Int cell = kinds_[q].stratum * size + s;
            if (code % 3 == 2) ratio += log_covered_[cell] - log_left_[cell];
            if (code % 3 == 1) ratio += log_miss_[s];
        }
        kind_ratios_[q] = ratio;
    }
    kernels->log_mixtures(kind_ratios_.data(), static_cast<Int>(kind_ratios_.size()), rate, kind_ratios_.data());
    for (std::size_t q = 0; q < kinds_.size(); ++q) {
        sums[kinds_[q].stratum * N_RATES] += static_cast<double>(kinds_[q].count) * kind_ratios_[q];
    }
}

// Rates of use of the strata, drawn to those of the class, and these to those of all rows; used counts rows.
Doubles Fitter::use_rates(const Doubles& used) const {
    const Int c = store_.n_classes, n_strata = store_.n_strata();
    Doubles of_class(c), size(c), rates(n_strata);
    double all = 0, rows = 0;
    for (Int h = 0; h < n_strata; ++h) {
        of_class[store_.class_of[h]] += used[h];
        size[store_.class_of[h]] += store_.sizes[h];
        all += used[h];
        rows += store_.sizes[h];
    }
    const double share = (all + 0.5) / (rows + 1);
    for (Int h = 0; h < n_strata; ++h) {
        const Int a = store_.class_of[h];
        const double rate = (of_class[a] + 2 * share) / (size[a] + 2);
        rates[h] = (used[h] + 4 * rate) / (store_.sizes[h] + 4);
    }
    return rates;
}

Doubles Fitter::count_used(const Pattern& pattern) const {
    Doubles used;
    for (Int h = 0; h < store_.n_strata(); ++h) used.push_back(store_.count_rows(pattern.rows.data(), h));
    return used;
}

double Fitter::mean_strength(const Pattern& pattern) const {
    double sum = 0;
    for (double strength : pattern.strengths) sum += strength;
    return std::clamp(sum / static_cast<double>(pattern.size()), WEAKEST, STRONGEST);
}

// Rows whose posterior probability of use is above one half.
void Fitter::choose_rows(Pattern& pattern, const Doubles& rates) {
    gather(pattern, pattern.strengths);
    list_terms(pattern);
    explain(pattern.size(), rates);
    weigh(pattern.size());
    for (Int h = 0; h < store_.n_strata(); ++h) {
        const Int begin = store_.edges[h], end = store_.edges[h + 1];
        kernels->find_above(ratios_.data() + 64 * begin, end - begin, -logit(rates[h]), pattern.rows.data() + begin);
        for (Int w = begin; w < end; ++w) pattern.rows[w] &= store_.mask[w];
    }
    pattern.doubt = doubt(pattern, rates);
}

// How probable it is, in the mean, that rows that use a pattern do not; as of the last choice of rows.
double Fitter::doubt(const Pattern& pattern, const Doubles& rates) {
    double sum = 0, n_rows = 0;
    for (Int h = 0; h < store_.n_strata(); ++h) {
        const double odds = rates[h] / (1 - rates[h]);
        for (Int w = store_.edges[h]; w < store_.edges[h + 1]; ++w) {
            for (Word left = pattern.rows[w]; left; left &= left - 1) {
                const double ratio = ratios_[64 * w + lowest_one(left)];
                n_rows += 1;
                if (ratio < MUCH) sum += 1 / (1 + odds * std::exp(ratio));
            }
        }
    }
    return sum / std::max(n_rows, 1.0);
}

// Log-likelihood ratios against chance with rows summed out, of every stratum and rate.
Doubles Fitter::sum_rates(const Pattern& pattern, const Doubles& strengths) {
    const Int n_strata = store_.n_strata(), size = pattern.size();
    Doubles sums(n_strata * N_RATES, 0.0);
    gather(pattern, strengths);
    if (size <= FEW) {
        list_kinds(pattern);
    } else {
        list_terms(pattern);
    }
    for (int t = 1; t < N_RATES; ++t) {
        explain(size, Doubles(n_strata, RATES[t]));
        if (size <= FEW) {
            sum_kinds(size, RATES[t], sums.data() + t);
        } else {
            weigh(size);
        }
        for (Int h = 0; h < n_strata; ++h) {
            double& sum = sums[h * N_RATES + t];
            if (size > FEW) sum = kernels->sum_mixtures(ratios_.data() + 64 * store_.edges[h], store_.sizes[h], RATES[t]);
            sum += unexplained_[h];
        }
    }
    return sums;
}

// The rate of every stratum that its rows speak for.
Doubles Fitter::best_rates(const Doubles& sums) const {
    Doubles rates;
    for (Int h = 0; h < store_.n_strata(); ++h) {
        const double* of_rates = sums.data() + h * N_RATES;
        rates.push_back(std::max(RATES[std::max_element(of_rates, of_rates + N_RATES) - of_rates], 0.001));
    }
    return rates;
}

// The place in the grid of every rate, in every stratum, if use grows with the size of rows as items do, to a power.
std::vector<Int> Fitter::scaled_rates(const Chance& chance, double power) const {
    static const std::array<double, N_RATES> LOGITS = [] {
        std::array<double, N_RATES> logits{};
        for (int t = 1; t < N_RATES; ++t) logits[t] = logit(RATES[t]);
        return logits;
    }();
    const Int n_strata = store_.n_strata();
    double mean = 0, rows = 0;
    for (Int h = 0; h < n_strata; ++h) {
        mean += static_cast<double>(store_.sizes[h]) * chance.shift(h);
        rows += static_cast<double>(store_.sizes[h]);
    }
    mean /= rows;
    std::vector<Int> places(n_strata * N_RATES, 0);
    for (Int h = 0; h < n_strata; ++h) {
        // Rates rise, and with them the places.
        int best = 1;
        for (int t = 1; t < N_RATES; ++t) {
            const double wanted = LOGITS[t] + power * (chance.shift(h) - mean);
            while (best + 1 < N_RATES && std::abs(LOGITS[best + 1] - wanted) < std::abs(LOGITS[best] - wanted)) ++best;
            places[h * N_RATES + t] = best;
        }
    }
    return places;
}

// The logarithm of the mean of likelihoods with rates averaged for all rows, for each class, and for each stratum; the
// sums are of strata and rates.
double Fitter::average(const Pattern& pattern, const Doubles& sums) const {
    const Int n_strata = store_.n_strata(), c = store_.n_classes;
    const Chance& chance = chances_.of(pattern.within, true);
    Doubles levels;
    for (double power : POWERS) {
        if (power > 0 && store_.n_bins == 1) break;
        const std::vector<Int> places = scaled_rates(chance, power);
        Doubles all(N_RATES, 0.0), of_class(c * N_RATES, 0.0);
        for (Int h = 0; h < n_strata; ++h) {
            for (int t = 0; t < N_RATES; ++t) {
                const double value = sums[h * N_RATES + places[h * N_RATES + t]];
                all[t] += value;
                of_class[store_.class_of[h] * N_RATES + t] += value;
            }
        }
        levels.push_back(log_mean_exp(all.data(), N_RATES));
        if (c < 2) continue;
        levels.push_back(0.0);
        for (Int a = 0; a < c; ++a) levels.back() += log_mean_exp(of_class.data() + a * N_RATES, N_RATES);
    }
    if (store_.n_bins > 1) {
        levels.push_back(0.0);
        for (Int h = 0; h < n_strata; ++h) levels.back() += log_mean_exp(sums.data() + h * N_RATES, N_RATES);
    }
    return log_mean_exp(levels.data(), static_cast<Int>(levels.size()));
}

double Fitter::evidence(const Pattern& pattern) {
    // Leaving terms of a mean of likelihoods out makes it smaller: only strengths near that of the pattern are tried.
    double mean = 0;
    for (double strength : pattern.strengths) mean += strength / static_cast<double>(pattern.size());
    if (pattern.size() <= FEW) {
        Doubles all;
        for (double strength : FEW_STRENGTHS) {
            all.push_back(average(pattern, sum_rates(pattern, Doubles(pattern.size(), strength))));
        }
        return log_mean_exp(all.data(), static_cast<Int>(all.size())) - price_of_items(store_, pattern);
    }
    const Int above = std::upper_bound(STRENGTHS, STRENGTHS + N_STRENGTHS, mean) - STRENGTHS, first = std::max<Int>(above - 2, 0);
    Doubles values;
    for (Int k = first; k < std::min<Int>(first + 3, N_STRENGTHS); ++k) {
        values.push_back(average(pattern, sum_rates(pattern, Doubles(pattern.size(), STRENGTHS[k]))));
    }
    const double tried = static_cast<double>(values.size());
    return log_mean_exp(values.data(), static_cast<Int>(values.size())) + std::log(tried / N_STRENGTHS) -
           price_of_items(store_, pattern);
}

// Rows that use a pattern of few items have all of them, so that it seems stronger than it is: the strength that is worth most
// with rows summed out is taken if that is better.
void Fitter::soften(Pattern& pattern) {
    Pattern best = pattern;
    double highest = -std::numeric_limits<double>::infinity();
    Doubles values, rates;
    for (double strength : FEW_STRENGTHS) {
        const Doubles sums = sum_rates(pattern, Doubles(pattern.size(), strength));
        values.push_back(average(pattern, sums));
        if (values.back() <= highest) continue;
        highest = values.back();
        best.strengths.assign(pattern.size(), strength);
        rates = best_rates(sums);
    }
    best.value = log_mean_exp(values.data(), static_cast<Int>(values.size())) - price_of_items(store_, pattern);
    if (best.value <= pattern.value) return;
    choose_rows(best, rates);
    if (store_.count_rows(best.rows.data()) >= FEWEST_ROWS) pattern = std::move(best);
}

// Whether rows that use a pattern have most of its items, in the mean. A looser set, such as all items of several patterns,
// would take the cells of what is in it.
bool Fitter::have_most(const Pattern& pattern) {
    double ones = 0, cells = 0;
    used_.resize(store_.n_strata());
    for (Int k = 0; k < pattern.size(); ++k) {
        store_.count(pattern.items[k], pattern.rows.data(), used_.data());
        for (Int h = 0; h < store_.n_strata(); ++h) {
            if (!pattern.has(k, store_.class_of[h], store_.n_classes)) continue;
            ones += static_cast<double>(used_[h].ones);
            cells += static_cast<double>(used_[h].cells);
        }
    }
    return 2 * ones >= cells;
}

bool Fitter::fit(Pattern& pattern, int turns) {
    bool first = true;
    double density = 0.7;
    Doubles rates, sums;
    if (pattern.rows.empty()) {
        pattern.rows.assign(store_.n_words, 0);
        pattern.strengths.assign(pattern.size(), 0.65);
        pattern.in_class.assign(pattern.size() * store_.n_classes, 1);
        choose_rows(pattern, best_rates(sum_rates(pattern, pattern.strengths)));
    }
    rates = use_rates(count_used(pattern));
    for (int turn = 0; turn < turns; ++turn) {
        if (store_.count_rows(pattern.rows.data()) < FEWEST_ROWS) return false;
        const std::vector<Int> items = pattern.items;
        const std::vector<char> in_class = pattern.in_class;
        const Words rows = pattern.rows;
        if (!choose_items(pattern, density, first, rates)) return false;
        first = false;
        rates = use_rates(count_used(pattern));
        choose_rows(pattern, rates);
        density = mean_strength(pattern);
        const bool same = pattern.items == items && pattern.in_class == in_class && pattern.rows == rows;
        if (!same && turn + 1 < turns) continue;
        // Rates of use may be stuck where a stratum has none, or all, of its rows.
        const Words before = pattern.rows;
        rates = use_rates(count_used(pattern));
        sums = sum_rates(pattern, pattern.strengths);
        pattern.value = average(pattern, sums) - price_of_items(store_, pattern) - 0.5 * pattern.size();
        rates = best_rates(sums);
        choose_rows(pattern, rates);
        if (pattern.rows == before) break;
    }
    if (store_.count_rows(pattern.rows.data()) < FEWEST_ROWS) return false;
    if (pattern.size() <= FEW) soften(pattern);
    return have_most(pattern);
}

}  // namespace saltmine::likelihood
