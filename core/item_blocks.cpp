// Loops over items for given rows: each item on its own, all patterns at once.
//
// Given who uses which pattern, the choice of one item does not depend on any other. So an item is taken up once, all
// patterns are weighed for it while its few words are at hand, and nothing is kept of it but the patterns that carry it
// (masks). The rows are then weighed for all patterns in one pass over the items.
#include "bindings.hpp"
#include "cell_evidence.hpp"
#include "class_tests.hpp"
#include "data.hpp"
#include "item_choice.hpp"
#include "kernels/kernels.hpp"
#include "scores.hpp"

namespace saltmine {

// What the choice of an item depends on besides its own column: see Plan in item_kernels.py.
struct Plan {
    Matrix<const Word> usage;      // (R, W)
    Matrix<const Int> used;        // (R, c)
    Array<const double> density;   // (R,)
    Array<const Int> items;        // (R,)
    Array<const bool> typical;     // (R,)
    double log_total;
    Matrix<const bool> may_alter;  // (R, c)

    Int rank() const { return used.shape[0]; }
};

// The rows that carry patterns, and groups of rows of about the same size: see Carriers in item_kernels.py.
struct Carriers {
    Matrix<const Word> rows;    // (R, W)
    Matrix<const Word> strata;  // (G, W)
    Matrix<const Int> joined;   // (R, G)
    View<const Int, 3> sizes;   // (R, G, c)
};

namespace {

// An item is chosen for all patterns in turn, and again while anything changes.
constexpr Int TURNS = 3;

using Masks = View<Word, 3>;  // (c, n, K): patterns that carry an item in a class

// Room for the words of one item: of a length that the compiler knows where they are few, FEW = 0 for any number.
template <int FEW>
struct Words {
    std::array<Word, FEW> at;
    explicit Words(Int) {}
};
template <>
struct Words<0> {
    std::vector<Word> at;
    explicit Words(Int n_words) : at(n_words) {}
};

// One item at a time, as it looks with and without each pattern.
template <int FEW>
class Item {
public:
    Item(const Data& data, Matrix<const Word> usage, Masks masks)
        : open_ones(data.n_classes()), open_zeros(data.n_classes()), ones(data.n_classes()),
          data_(data), usage_(usage), masks_(masks), n_words_(data.n_words()),
          own_masks_(masks.shape[0] * masks.shape[2]), covered_(n_words_), covered_twice_(n_words_) {
        for (Int a = 0; a < data.n_classes(); ++a) class_of_.resize(data.edges[a + 1], a);
    }

    // ---- the item with all patterns

    Int errors() const { return errors_; }
    Int number() const { return i_; }
    const Word* column() const { return column_; }
    const Word* covered() const { return covered_.at.data(); }

    // Whether no pattern carries the item in any class.
    bool is_bare(Int i) const {
        Word any = 0;
        for (Int a = 0; a < n_classes(); ++a) {
            for (Int k = 0; k < masks_.shape[2]; ++k) any |= masks_(a, i, k);
        }
        return any == 0;
    }

    // Take up an item: find the cells that patterns cover, and count the others.
    void cover(Int i) {
        i_ = i;
        column_ = data_.column(i);
        for (Int a = 0; a < n_classes(); ++a) {
            for (Int k = 0; k < masks_.shape[2]; ++k) mask(a, k) = masks_(a, i, k);
        }
        for (Int w = 0; w < n_words(); ++w) covered_.at[w] = covered_twice_.at[w] = 0;
        for (Int a = 0; a < n_classes(); ++a) {
            for (Int k = 0; k < masks_.shape[2]; ++k) {
                for (Word left = mask(a, k); left != 0; left &= left - 1) {
                    const Word* rows = &usage_(64 * k + lowest_one(left), 0);
                    for (Int w = data_.edges[a]; w < data_.edges[a + 1]; ++w) {
                        covered_twice_.at[w] |= covered_.at[w] & rows[w];
                        covered_.at[w] |= rows[w];
                    }
                }
            }
        }
        errors_ = open_ = open_with_one_ = 0;
        for (Int w = 0; w < n_words(); ++w) {
            Word open = data_.row_mask[w] & ~covered_.at[w];
            Int weight = data_.row_weights[w];
            errors_ += weight * count_ones(covered_.at[w] ^ column_[w]);
            open_ += weight * count_ones(open);
            open_with_one_ += weight * count_ones(open & column_[w]);
        }
    }

    // Call take(s) for every pattern that any class carries the item in.
    template <class Take>
    void each_carried(Take take) const {
        for (Int k = 0; k < masks_.shape[2]; ++k) {
            Word left = 0;
            for (Int a = 0; a < n_classes(); ++a) left |= mask(a, k);
            for (; left != 0; left &= left - 1) take(64 * k + lowest_one(left));
        }
    }

    bool carries(Int a, Int s) const { return has_bit(mask(a, s / 64), s % 64); }
    bool is_carried(Int s) const {
        bool any = false;
        for (Int a = 0; a < n_classes(); ++a) any = any || carries(a, s);
        return any;
    }
    void carry(Int a, Int s, bool carries) {
        Word bit = Word{1} << (s % 64), now = mask(a, s / 64);
        masks_(a, i_, s / 64) = mask(a, s / 64) = carries ? now | bit : now & ~bit;
    }

    // ---- the item without one pattern

    std::vector<Int> open_ones, open_zeros, ones;  // (c,): cells of the rows of the pattern

    ItemCells cells() const { return {open_ones.data(), open_zeros.data(), ones.data(), 1}; }
    Int errors_without() const { return errors_without_; }
    double background() const {
        return open_without_ > 0 ? static_cast<double>(with_one_without_) / open_without_ : 1.0;
    }

    // The cells of the rows of pattern s in word w that no other pattern covers.
    Word open_cells(Int s, Int w) const {
        return usage_(s, w) & ~(carries(class_of_[w], s) ? covered_twice_.at[w] : covered_.at[w]);
    }
    // All cells of word w that are open without pattern s.
    Word open_without(Int s, Int w) const {
        Word only_here = carries(class_of_[w], s) ? usage_(s, w) & ~covered_twice_.at[w] : 0;
        return data_.row_mask[w] & (~covered_.at[w] | only_here);
    }

    // Count the cells of the rows of pattern s, and look at the item without it.
    void leave_out(Int s) {
        errors_without_ = errors_;
        open_without_ = open_;
        with_one_without_ = open_with_one_;
        const Word* rows = &usage_(s, 0);
        for (Int a = 0; a < n_classes(); ++a) {
            bool carried = carries(a, s);
            const Word* of_others = carried ? covered_twice_.at.data() : covered_.at.data();
            Int here = 0, all = 0, with_one = 0;
            for (Int w = data_.edges[a]; w < data_.edges[a + 1]; ++w) {
                Word open = rows[w] & ~of_others[w];
                Int weight = data_.row_weights[w];
                here += weight * count_ones(open & column_[w]);
                all += weight * count_ones(open);
                with_one += weight * count_ones(column_[w] & rows[w]);
            }
            open_ones[a] = here;
            open_zeros[a] = all - here;
            ones[a] = with_one;
            // What the pattern alone covers is open without it.
            if (carried) {
                errors_without_ += here - open_zeros[a];
                open_without_ += all;
                with_one_without_ += here;
            }
        }
    }

    Int n_classes() const { return static_cast<Int>(open_ones.size()); }
    Int n_words() const { return FEW > 0 ? FEW : n_words_; }

private:
    Word& mask(Int a, Int k) { return own_masks_[a * masks_.shape[2] + k]; }
    Word mask(Int a, Int k) const { return own_masks_[a * masks_.shape[2] + k]; }

    const Data& data_;
    Matrix<const Word> usage_;
    Masks masks_;
    Int n_words_;
    std::vector<Word> own_masks_;  // (c, K)
    std::vector<Int> class_of_;    // (W,)
    Words<FEW> covered_, covered_twice_;
    Int i_ = 0;
    const Word* column_ = nullptr;
    // Errors, open cells, and ones among them: with all patterns, and without one.
    Int errors_ = 0, open_ = 0, open_with_one_ = 0;
    Int errors_without_ = 0, open_without_ = 0, with_one_without_ = 0;
};

// Call work(std::integral_constant<int, FEW>) for the number of words that the items have.
template <class Work>
void for_words(Int n_words, Work work) {
    switch (n_words) {
        case 1: return work(std::integral_constant<int, 1>());
        case 2: return work(std::integral_constant<int, 2>());
        case 3: return work(std::integral_constant<int, 3>());
        case 4: return work(std::integral_constant<int, 4>());
        default: return work(std::integral_constant<int, 0>());
    }
}

void check(const Data& data, const Plan& plan, Masks masks) {
    Int c = data.n_classes(), rank = plan.rank();
    if (plan.usage.shape[0] != rank || plan.usage.shape[1] != data.n_words() || plan.used.shape[1] != c ||
        masks.shape[0] != c || masks.shape[1] != data.n_items() || 64 * masks.shape[2] < rank) {
        throw std::invalid_argument("patterns of other items, rows or classes");
    }
}

// ---------------------------------------------------------------------- choosing

// All patterns at a time, as they look at an item that they do not carry.
class Screen {
public:
    Screen(const Data& data, const Plan& plan)
        : data_(data), rank_(plan.rank()), usage_(data.n_words() * rank_), half_(data.n_classes() * rank_),
          open_ones_(rank_), open_(rank_), ones_(rank_), gains_(rank_), pays_(rank_) {
        for (Int w = 0; w < data.n_words(); ++w) {
            for (Int s = 0; s < rank_; ++s) usage_[w * rank_ + s] = plan.usage(s, w);
        }
        for (Int a = 0; a < data.n_classes(); ++a) {
            for (Int w = data.edges[a]; w < data.edges[a + 1]; ++w) add(w, data.row_mask[w], half_.data() + a * rank_);
            for (Int s = 0; s < rank_; ++s) half_[a * rank_ + s] /= 2;
        }
    }

    // The patterns of which more than half of the rows of any class have the item, which none carries.
    const std::vector<Int>& paying(const Word* column) {
        std::fill(pays_.begin(), pays_.end(), 0);
        Word any = 0;
        for (Int a = 0; a < data_.n_classes(); ++a) {
            std::fill(open_ones_.begin(), open_ones_.end(), 0);
            for (Int w = data_.edges[a]; w < data_.edges[a + 1]; ++w) add(w, column[w], open_ones_.data());
            for (Int s = 0; s < rank_; ++s) any |= pays_[s] |= open_ones_[s] > half_[a * rank_ + s];
        }
        found_.clear();
        for (Int s = 0; any != 0 && s < rank_; ++s) {
            if (pays_[s]) found_.push_back(s);
        }
        return found_;
    }

    // Count the cells that no pattern covers.
    void count(const Word* column, const Word* covered) {
        for (std::vector<Int>* sums : {&ones_, &gains_}) std::fill(sums->begin(), sums->end(), 0);
        std::fill(pays_.begin(), pays_.end(), 0);
        for (Int a = 0; a < data_.n_classes(); ++a) {
            for (std::vector<Int>* sums : {&open_ones_, &open_}) std::fill(sums->begin(), sums->end(), 0);
            for (Int w = data_.edges[a]; w < data_.edges[a + 1]; ++w) {
                add(w, ~covered[w] & column[w], open_ones_.data());
                add(w, ~covered[w], open_.data());
            }
            for (Int s = 0; s < rank_; ++s) {
                Int gain = 2 * open_ones_[s] - open_[s];
                ones_[s] += open_ones_[s];
                gains_[s] += gain;
                pays_[s] |= gain > 0;
            }
        }
    }
    // Open ones of the rows of pattern s, their number less that of open zeros, and whether they are more in any class.
    Int ones(Int s) const { return ones_[s]; }
    Int gain(Int s) const { return gains_[s]; }
    bool pays(Int s) const { return pays_[s] != 0; }

private:
    // Add the rows of every pattern that have a one in this word.
    void add(Int w, Word cells, Int* sums) const {
        kernels->add_counts(usage_.data() + w * rank_, cells, data_.row_weights[w], rank_, sums);
    }

    const Data& data_;
    Int rank_;
    std::vector<Word> usage_;              // (W, R)
    std::vector<Int> half_;                // (c, R): half of the rows of every pattern
    std::vector<Int> open_ones_, open_;    // (R,): of one class
    std::vector<Int> ones_, gains_;        // (R,)
    std::vector<Word> pays_;               // (R,)
    std::vector<Int> found_;
};

// Chooses which patterns carry an item.
template <int FEW>
class Chooser {
public:
    Chooser(const Data& data, const Plan& plan, Masks masks)
        : data_(data), plan_(plan), item_(data, plan.usage, masks), screen_(data, plan), carriers_(data.n_classes()),
          some_(data.n_classes()) {
        for (Int s = 0; s < plan.rank(); ++s) {
            Int used = 0;
            for (Int a = 0; a < data.n_classes(); ++a) used += plan.used(s, a);
            if (used > 0) in_use_.push_back(s);
        }
    }

    // Choose anew, from what the masks say now; f falls with every change.
    void choose(Int i) {
        if (item_.is_bare(i) && !any_joins(i)) return;
        item_.cover(i);
        sort_patterns();
        // In turn, until none has changed since it was last looked at.
        Int count = static_cast<Int>(order_.size()), unchanged = 0, looks = 0;
        while (unchanged < count && looks < TURNS * count) {
            Int s = order_[looks % count].s;
            ++unchanged;
            // A pattern that does not carry the item has nothing to change where it does not pay.
            if ((screen_.pays(s) || item_.is_carried(s)) && changes(s)) {
                take_over(s);
                item_.cover(i);
                screen_.count(item_.column(), item_.covered());
                unchanged = 1;
            }
            ++looks;
        }
    }

private:
    struct Candidate {
        Int s, gain;
    };

    // Whether any pattern would take the item that none carries.
    bool any_joins(Int i) {
        const std::vector<Int>& paying = screen_.paying(data_.column(i));
        if (paying.empty()) return false;
        item_.cover(i);
        return std::any_of(paying.begin(), paying.end(), [&](Int s) { return changes(s); });
    }

    // Patterns that gain most come first: a later one then gets what is left for it.
    void sort_patterns() {
        order_.clear();
        screen_.count(item_.column(), item_.covered());
        for (Int s : in_use_) {
            Int gain = screen_.gain(s);
            if (item_.is_carried(s)) {
                item_.leave_out(s);
                gain = 0;
                for (Int a = 0; a < item_.n_classes(); ++a) gain += item_.open_ones[a] - item_.open_zeros[a];
            } else if (screen_.ones(s) == 0) {
                // Without a one to win, as long as it carries nothing, it has none either when others take some.
                continue;
            }
            order_.push_back({s, gain});
            for (std::size_t k = order_.size() - 1; k > 0 && order_[k - 1].gain < order_[k].gain; --k) {
                std::swap(order_[k - 1], order_[k]);
            }
        }
    }

    // Choose the classes that carry the item in pattern s, given the other patterns; say whether they are others than
    // now.
    bool changes(Int s) {
        item_.leave_out(s);
        std::fill(carriers_.begin(), carriers_.end(), 0);
        if (may_shorten()) {
            double background = item_.background(), code = data_.costs.codes[item_.number()];
            double least = evidence_to_join(code, background, plan_.typical[s] ? 0 : plan_.items[s]);
            ItemTerms terms{data_.costs.counted,     data_.costs.cross, code, plan_.log_total, item_.errors_without(),
                            log_likelihood_ratio(background, plan_.density[s]), least};
            choose_carriers(terms, item_.cells(), item_.n_classes(), &plan_.may_alter(s, 0), carriers(),
                            reinterpret_cast<bool*>(some_.data()));
        }
        bool differ = false;
        for (Int a = 0; a < item_.n_classes(); ++a) differ = differ || carriers()[a] != item_.carries(a, s);
        return differ;
    }

    void take_over(Int s) {
        for (Int a = 0; a < item_.n_classes(); ++a) item_.carry(a, s, carriers()[a]);
    }

    bool* carriers() { return reinterpret_cast<bool*>(carriers_.data()); }

    // Whether any choice of classes may shorten f, as may_pay asks first; logarithms are only taken where they matter.
    bool may_shorten() const {
        Int most = 0;
        for (Int a = 0; a < item_.n_classes(); ++a) most += std::max(item_.open_ones[a] - item_.open_zeros[a], Int{0});
        if (most == 0) return false;
        double code = data_.costs.codes[item_.number()];
        Int errors = item_.errors_without();
        return item_length(data_.costs.counted, code, errors, plan_.log_total) -
                   item_length(data_.costs.counted, code, errors - most, plan_.log_total) >
               code - EVEN;
    }

    const Data& data_;
    const Plan& plan_;
    Item<FEW> item_;
    Screen screen_;
    std::vector<Int> in_use_;
    std::vector<Candidate> order_;
    std::vector<std::uint8_t> carriers_, some_;
};

// Choose anew which patterns carry the items.
void solve_items(Data data, Plan plan, Masks masks) {
    check(data, plan, masks);
    for_words(data.n_words(), [&](auto few) {
        Chooser<few()> chooser(data, plan, masks);
        for (Int i = 0; i < data.n_items(); ++i) chooser.choose(i);
    });
}

// ---------------------------------------------------------------------- sums

// Call take(item, s) for every item and every pattern that carries it, looked at without that pattern; before that, per
// item, begin(item).
template <class Begin, class Take>
void each_carried(const Data& data, const Plan& plan, Masks masks, Begin begin, Take take) {
    check(data, plan, masks);
    for_words(data.n_words(), [&](auto few) {
        Item<few()> item(data, plan.usage, masks);
        for (Int i = 0; i < data.n_items(); ++i) {
            item.cover(i);
            begin(item);
            item.each_carried([&](Int s) {
                item.leave_out(s);
                take(item, s);
            });
        }
    });
}

// Add up what f and the next plan need of the items.
void sum_items(Data data, Plan plan, Masks masks, ModelSums sums) {
    auto begin = [&](const auto& item) {
        add_errors(data.costs, item.number(), item.errors(), data.costs.weights[item.number()], sums.code.data);
    };
    each_carried(data, plan, masks, begin, [&](const auto& item, Int s) {
        auto carries = [&](Int a) { return item.carries(a, s); };
        add_to_model(data.costs, item.number(), item.cells(), data.n_classes(), carries, &plan.used(s, 0), s, sums);
    });
}

// The evidence of an item in pattern s, in the classes that carry it.
template <int FEW>
double evidence_of_item(const Data& data, const Plan& plan, const Item<FEW>& item, Int s) {
    double background = item.background(), shown = 0.0;
    if (!(0.0 < background && background < 1.0)) return shown;
    CellEvidence of_cells(background, rounded_density(plan.density[s]));
    for (Int a = 0; a < data.n_classes(); ++a) {
        if (!item.carries(a, s)) continue;
        for (Int w = data.edges[a]; w < data.edges[a + 1]; ++w) {
            Word cells = item.open_cells(s, w);
            if (cells == 0) continue;
            const double *odds = data.row_odds.data + 64 * w, *shifts = data.row_shifts.data + 64 * w;
            shown += data.row_weights[w] * of_cells.of(item.column()[w], cells, odds, shifts);
        }
    }
    return data.costs.rounded(shown);
}

// Add up the evidence of every pattern, and what f would be without it or what classes add to it.
void score_items(Data data, Plan plan, Masks masks, ScoreSums sums) {
    each_carried(data, plan, masks, [](const auto&) {}, [&](const auto& item, Int s) {
        Int i = item.number();
        ItemState state{item.errors(), item.errors_without(), evidence_of_item(data, plan, item, s),
                        min_item_evidence(data.costs.codes[i], plan.items[s])};
        auto carries = [&](Int a) { return item.carries(a, s); };
        add_to_scores(data.costs, i, item.cells(), data.n_classes(), carries, state, s, sums);
    });
}

// ---------------------------------------------------------------------- rows

void check_gains(const Data& data, const Plan& plan, Matrix<double> gains) {
    if (gains.shape[0] != plan.rank() || gains.shape[1] != 64 * data.n_words()) {
        throw std::invalid_argument("gains of other patterns or rows");
    }
}

// What covering a one of an item saves.
double worth_of(const Data& data, Int i, Int errors, double total) {
    return data.costs.weights[i] * data.costs.rounded(std::log(total / std::max(static_cast<double>(errors), 0.5)));
}

// Sum up for every pattern and row what using it saves, less its share of S, (R, 64 W).
void weigh_all_rows(Data data, Plan plan, Masks masks, double total, Matrix<double> gains) {
    check(data, plan, masks);
    check_gains(data, plan, gains);
    Int c = data.n_classes();
    for_words(data.n_words(), [&](auto few) {
        Item<few()> item(data, plan.usage, masks);
        for (Int i = 0; i < data.n_items(); ++i) {
            if (item.is_bare(i)) continue;
            item.cover(i);
            double worth = worth_of(data, i, item.errors(), total);
            item.each_carried([&](Int s) {
                for (Int a = 0; a < c; ++a) {
                    // Where the class does not carry the item, its ones are a part of S of those that do.
                    double cross = 0.0;
                    for (Int b = 0; b < c && !item.carries(a, s); ++b) {
                        if (item.carries(b, s)) cross += data.costs.weights[i] * data.costs.cross(b, a);
                    }
                    for (Int w = data.edges[a]; w < data.edges[a + 1]; ++w) {
                        Word column = data.column(i)[w];
                        double* sums = &gains(s, 64 * w);
                        if (item.carries(a, s)) {
                            Word open = item.open_without(s, w);
                            kernels->add_to_rows(open & column, open & ~column, data.word_sizes[w], worth, sums);
                        } else {
                            kernels->add_to_rows(column, 0, data.word_sizes[w], -cross, sums);
                        }
                    }
                }
            });
        }
    });
}

// Sum up for every pattern and row what using it would save if there were no other pattern, (R, 64 W). By the items
// that all classes carry.
void weigh_carriers(Data data, Plan plan, Masks masks, double total, Matrix<double> gains) {
    check(data, plan, masks);
    check_gains(data, plan, gains);
    for_words(data.n_words(), [&](auto few) {
        Item<few()> item(data, plan.usage, masks);
        for (Int i = 0; i < data.n_items(); ++i) {
            bool is_covered = false;
            double worth = 0.0;
            for (Int k = 0; k < masks.shape[2]; ++k) {
                Word shared = ~Word{0};
                for (Int a = 0; a < data.n_classes(); ++a) shared &= masks(a, i, k);
                if (shared != 0 && !is_covered) {
                    is_covered = true;
                    item.cover(i);
                    worth = worth_of(data, i, item.errors(), total);
                }
                for (; shared != 0; shared &= shared - 1) {
                    double* sums = &gains(64 * k + lowest_one(shared), 0);
                    for (Int w = 0; w < data.n_words(); ++w) {
                        Word column = data.column(i)[w];
                        kernels->add_to_rows(column, data.row_mask[w] & ~column, data.word_sizes[w], worth, sums + 64 * w);
                    }
                }
            }
        }
    });
}

// ---------------------------------------------------------------------- what classes add

// Tests for the items that classes add to a pattern, among the rows that carry it.
class AddedToPattern {
public:
    AddedToPattern(const Data& data, const Carriers& among, Int s)
        : data_(data), rows_(&among.rows(s, 0)), strata_(among.strata), joined_(among.joined.at(s)),
          sizes_(join(among.sizes.at(s), joined_)), all_rows_(sum_classes(sizes())), hits_(sizes_.size()),
          own_hits_(all_rows_.size()), own_rows_(all_rows_.size()), all_hits_(all_rows_.size()) {}

    void take(const Word* column) {
        Int c = data_.n_classes();
        std::fill(hits_.begin(), hits_.end(), 0);
        for (Int a = 0; a < c; ++a) {
            for (Int w = data_.edges[a]; w < data_.edges[a + 1]; ++w) {
                Word having = rows_[w] & column[w];
                for (Int g = 0; having != 0 && g < strata_.shape[0]; ++g) {
                    hits_[joined_[g] * c + a] += data_.row_weights[w] * count_ones(having & strata_(g, w));
                }
            }
        }
        std::fill(all_hits_.begin(), all_hits_.end(), 0);
        for (std::size_t k = 0; k < hits_.size(); ++k) all_hits_[k / c] += hits_[k];
    }

    // Do more rows of class a have the item than of all others of their size? Zero where most of its rows do not.
    double log_p(Int a) {
        Int c = data_.n_classes(), size = static_cast<Int>(all_rows_.size()), n_hits = 0, n_rows = 0;
        for (Int g = 0; g < size; ++g) {
            n_hits += own_hits_[g] = hits_[g * c + a];
            n_rows += own_rows_[g] = sizes_[g * c + a];
        }
        if (2 * n_hits <= n_rows) return 0.0;
        return log_p_twice({own_hits_.data(), all_hits_.data(), own_rows_.data(), all_rows_.data(), size});
    }

private:
    Matrix<const Int> sizes() const {
        return {sizes_.data(), {static_cast<Int>(sizes_.size()) / data_.n_classes(), data_.n_classes()}};
    }

    const Data& data_;
    const Word* rows_;
    Matrix<const Word> strata_;
    Array<const Int> joined_;
    std::vector<Int> sizes_, all_rows_, hits_, own_hits_, own_rows_, all_hits_;
};

// List the items that classes add to patterns, where wanted, (R, c), and test each. Returns pattern, class and item of
// one after the other, and the logarithms of their p-values.
std::tuple<std::vector<Int>, std::vector<double>> test_added_items(Data data, Carriers among, View<const Word, 3> masks,
                                                                   Matrix<const bool> wanted) {
    Int rank = wanted.shape[0], c = data.n_classes();
    if (masks.shape[0] != c || masks.shape[1] != data.n_items() || among.rows.shape[0] != rank ||
        among.joined.shape[0] != rank || among.sizes.shape[0] != rank || among.sizes.shape[2] != c) {
        throw std::invalid_argument("patterns of other items, rows or classes");
    }
    std::vector<AddedToPattern> patterns;
    for (Int s = 0; s < rank; ++s) patterns.emplace_back(data, among, s);
    std::vector<Int> entries;
    std::vector<double> log_p;
    for (Int i = 0; i < data.n_items(); ++i) {
        for (Int k = 0; k < masks.shape[2]; ++k) {
            Word any = 0, all = ~Word{0};
            for (Int a = 0; a < c; ++a) {
                any |= masks(a, i, k);
                all &= masks(a, i, k);
            }
            for (Word left = any & ~all; left != 0; left &= left - 1) {
                Int s = 64 * k + lowest_one(left);
                patterns[s].take(data.column(i));
                for (Int a = 0; a < c; ++a) {
                    if (!has_bit(masks(a, i, k), s % 64) || !wanted(s, a)) continue;
                    entries.insert(entries.end(), {s, a, i});
                    log_p.push_back(patterns[s].log_p(a));
                }
            }
        }
    }
    return {std::move(entries), std::move(log_p)};
}

}  // namespace
}  // namespace saltmine

SALTMINE_BIND(item_blocks, saltmine, solve_items, sum_items, score_items, weigh_all_rows, weigh_carriers,
              test_added_items)
