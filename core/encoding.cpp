// Encode rows with the patterns of a class: which patterns a row uses, and its code length in nats.
//
// Greedy: the pattern that saves most is added until none saves; patterns that others made superfluous are removed;
// every pattern is tried without; all of this is repeated until nothing shortens the code.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "bindings.hpp"
#include "bits.hpp"
#include "kernels/kernels.hpp"

namespace saltmine {
namespace {

using Index = std::int32_t;

constexpr double NEVER = -std::numeric_limits<double>::infinity();
// Nats are compared in whole numbers of this part, so that rounding errors never decide.
constexpr double PARTS = 1e9;

double rounded(double nats) { return std::nearbyint(nats * PARTS); }

// Some members for every one of a number of sets.
struct Lists {
    std::vector<Int> starts;
    std::vector<Index> members;

    struct Range {
        const Index* first;
        const Index* last;
        const Index* begin() const { return first; }
        const Index* end() const { return last; }
    };
    Range of(Int set) const { return {members.data() + starts[set], members.data() + starts[set + 1]}; }
};

Lists items_of_patterns(Matrix<const bool> patterns) {
    Lists lists{{0}, {}};
    Int n = patterns.shape[1];
    for (Int s = 0; s < patterns.shape[0]; ++s) {
        const bool* row = patterns.data + s * n;
        for (Int i = 0; i < n; ++i) {
            // Most have few of the items: eight that it has not are passed over at once.
            Word next = 0;
            if (i + 8 <= n) std::memcpy(&next, row + i, 8);
            if (i + 8 <= n && next == 0) {
                i += 7;
            } else if (row[i]) {
                lists.members.push_back(static_cast<Index>(i));
            }
        }
        lists.starts.push_back(static_cast<Int>(lists.members.size()));
    }
    return lists;
}

Lists transposed(const Lists& lists, Int n_members) {
    Lists result{std::vector<Int>(n_members + 1), std::vector<Index>(lists.members.size())};
    for (Index member : lists.members) ++result.starts[member + 1];
    for (Int k = 0; k < n_members; ++k) result.starts[k + 1] += result.starts[k];
    std::vector<Int> ends(result.starts);
    for (Int set = 0; set + 1 < static_cast<Int>(lists.starts.size()); ++set) {
        for (Index member : lists.of(set)) result.members[ends[member]++] = static_cast<Index>(set);
    }
    return result;
}

// A pattern that has items in common with another one, and their code length.
struct Neighbour {
    Index pattern;
    double common_nats;
};

// The patterns of a class, and the code lengths of patterns and of single items.
struct CodeTable {
    Lists items, patterns;  // items of every pattern, patterns of every item
    std::vector<double> pattern_nats, item_nats;
    std::vector<double> empty_gains;  // what every pattern saves in a row without ones: less than nothing
    std::vector<std::vector<Neighbour>> neighbours;
    Int n_places;                     // patterns and some room, so that all are looked at eight at a time

    CodeTable(Matrix<const bool> given, Array<const double> of_patterns, Array<const double> of_items)
        : items(items_of_patterns(given)),
          patterns(transposed(items, given.shape[1])),
          pattern_nats(of_patterns.begin(), of_patterns.end()),
          item_nats(of_items.begin(), of_items.end()),
          n_places(std::max<Int>(1, (given.shape[0] + 7) / 8) * 8) {
        empty_gains.assign(n_places, 0.0);
        for (Int s = 0; s < n_patterns(); ++s) {
            empty_gains[s] = -pattern_nats[s];
            for (Index i : items.of(s)) empty_gains[s] -= item_nats[i];
        }
        find_neighbours();
    }
    Int n_patterns() const { return static_cast<Int>(pattern_nats.size()); }

private:
    void find_neighbours() {
        std::vector<double> common(n_patterns());
        neighbours.resize(n_patterns());
        for (Int s = 0; s < n_patterns(); ++s) {
            std::fill(common.begin(), common.end(), 0.0);
            for (Index i : items.of(s)) {
                for (Index t : patterns.of(i)) common[t] += item_nats[i];
            }
            for (Int t = 0; t < n_patterns(); ++t) {
                if (t != s && common[t] > 0) neighbours[s].push_back({static_cast<Index>(t), common[t]});
            }
        }
    }
};

// A set of patterns.
class Usage {
public:
    explicit Usage(Int n_patterns) : words_((n_patterns + 63) / 64) {}

    void flip(Int s) { words_[s / 64] ^= Word{1} << (s % 64); }
    void clear() { std::fill(words_.begin(), words_.end(), 0); }
    bool operator==(const Usage& other) const { return words_ == other.words_; }

    // The first pattern of the set that is not before s, or -1.
    Int next(Int s) const {
        Word mask = ~Word{0} << (s % 64);
        for (std::size_t w = s / 64; w < words_.size(); ++w, mask = ~Word{0}) {
            if (words_[w] & mask) return 64 * static_cast<Int>(w) + lowest_one(words_[w] & mask);
        }
        return -1;
    }

    void write(Array<bool> out) const {
        for (Int s = 0; s < out.shape[0]; ++s) out[s] = has_bit(words_[s / 64], s % 64);
    }

private:
    std::vector<Word> words_;
};

// A row and the patterns that it uses. Memory is that of one row, used for one after the other.
class Row {
public:
    explicit Row(const CodeTable& table)
        : table_(table),
          worth_(table.item_nats.size()),
          covers_(table.item_nats.size(), 0),
          gains_(table.n_places),
          other_gains_(table.n_places),
          closed_(table.n_places, NEVER),
          used_(table.n_patterns()),
          used_before_(table.n_patterns()),
          used_first_(table.n_patterns()) {
        for (std::size_t i = 0; i < worth_.size(); ++i) worth_[i] = -table.item_nats[i];
        std::fill(closed_.begin(), closed_.begin() + table.n_patterns(), 0.0);
    }

    // Begin with the items that a row has, and no patterns.
    void start(Array<const Index> ones) {
        gains_ = table_.empty_gains;
        length_ = saved_ = 0;
        for (Index i : ones) {
            const double nats = table_.item_nats[i];
            length_ += nats;
            worth_[i] = nats;
            for (Index s : table_.patterns.of(i)) gains_[s] += 2 * nats;
        }
    }

    // Use the patterns that shorten the code.
    void choose() {
        while (true) {
            used_first_ = used_;
            cover();
            const bool pruned = prune(), exchanged = exchange();
            // All that could be tried next was tried.
            if ((!pruned && !exchanged) || used_ == used_first_) return;
        }
    }

    // Use patterns that are given.
    void use(Array<const bool> given) {
        for (Int s = 0; s < table_.n_patterns(); ++s) {
            if (given[s]) add(s);
        }
    }

    const Usage& used() const { return used_; }

    // Nats by which the patterns shorten the code, in PARTS.
    double saved() const { return rounded(saved_); }

    double length() const { return length_ - saved() / PARTS; }

    // Use no pattern any more.
    void clear() {
        for (Int s = used_.next(0); s >= 0; s = used_.next(s + 1)) {
            for (Index i : table_.items.of(s)) covers_[i] = 0;
            closed_[s] = 0;
        }
        used_.clear();
    }

    // Forget the items of the row.
    void finish(Array<const Index> ones) {
        clear();
        for (Index i : ones) worth_[i] = -table_.item_nats[i];
    }

private:
    const CodeTable& table_;
    std::vector<double> worth_;  // what covering a cell saves: the code of a one; a zero costs as much
    std::vector<Index> covers_;  // how many of the patterns used cover an item
    std::vector<double> gains_, other_gains_;  // what every pattern would save: now, and without one or before that
    std::vector<double> closed_;               // added to gains: that of a pattern that is not to be added is NEVER
    Usage used_, used_before_, used_first_;    // now, before an exchange, before everything
    double length_ = 0, saved_ = 0;

    void add(Int s) {
        saved_ += gains_[s];
        used_.flip(s);
        closed_[s] = NEVER;
        for (Index i : table_.items.of(s)) {
            if (covers_[i]++ > 0) continue;
            for (Index t : table_.patterns.of(i)) gains_[t] -= worth_[i];
        }
    }

    // Change gains to those without a pattern that is used.
    void uncover(Int s, std::vector<double>& gains) const {
        for (Index i : table_.items.of(s)) {
            if (covers_[i] > 1) continue;
            for (Index t : table_.patterns.of(i)) gains[t] += worth_[i];
        }
    }

    // Use a pattern no longer; gains are those without it. It stays closed.
    void leave(Int s) {
        saved_ -= gains_[s];
        used_.flip(s);
        for (Index i : table_.items.of(s)) --covers_[i];
    }

    // The first of the patterns that save most, or -1 if none does.
    Int best(const std::vector<double>& gains) const {
        const double largest = kernels->largest_sum(gains.data(), closed_.data(), table_.n_places), most = rounded(largest);
        if (!(most > 0)) return -1;
        // What is below this is not worth rounding. Above 2^53 parts `most - 1` is `most`, which may be more than the largest.
        const double less = std::min((most - 1) / PARTS, largest);
        Int s = 0;
        while (gains[s] + closed_[s] < less || rounded(gains[s] + closed_[s]) < most) ++s;
        return s;
    }

    // Add the pattern that saves most until none saves.
    void cover() {
        for (Int s = best(gains_); s >= 0; s = best(gains_)) add(s);
    }

    // Remove the patterns whose cells that no other pattern covers do not pay for them; return whether there are any.
    bool prune() {
        bool changed = false;
        for (Int s = used_.next(0); s >= 0; s = used_.next(s + 1)) {
            double gain = -table_.pattern_nats[s];
            for (Index i : table_.items.of(s)) {
                if (covers_[i] == 1) gain += worth_[i];
            }
            if (rounded(gain) <= 0) {
                uncover(s, gains_);
                leave(s);
                closed_[s] = 0;
                changed = true;
            }
        }
        return changed;
    }

    // Try every pattern without: others may cover the row in fewer nats. Return whether they do.
    bool exchange() {
        bool changed = false;
        for (Int s = used_.next(0); s >= 0; s = used_.next(s + 1)) {
            // Where no other takes its place, the pattern is worth its code.
            if (!may_be_replaced(s)) continue;
            other_gains_ = gains_;
            uncover(s, other_gains_);
            if (best(other_gains_) < 0) continue;
            used_before_ = used_;
            const double saved_before = saved_;
            std::swap(gains_, other_gains_);
            leave(s);
            cover();
            prune();
            if (rounded(saved_) > rounded(saved_before)) {
                closed_[s] = 0;
                changed = true;
            } else {
                restore(saved_before);
            }
        }
        return changed;
    }

    // Whether another pattern would save something if it had all cells that it has in common with this one.
    bool may_be_replaced(Int s) const {
        for (const Neighbour& other : table_.neighbours[s]) {
            // A little less than nothing: this is not to depend on rounding errors.
            if (gains_[other.pattern] + closed_[other.pattern] + other.common_nats > -1e-6) return true;
        }
        return false;
    }

    // Go back to what was before an exchange.
    void restore(double saved_before) {
        for (Int s = used_.next(0); s >= 0; s = used_.next(s + 1)) count_covers(s, -1);
        for (Int s = used_before_.next(0); s >= 0; s = used_before_.next(s + 1)) count_covers(s, 1);
        used_ = used_before_;
        std::swap(gains_, other_gains_);
        saved_ = saved_before;
    }

    void count_covers(Int s, Index by) {
        for (Index i : table_.items.of(s)) covers_[i] += by;
        closed_[s] = by > 0 ? NEVER : 0;
    }
};

// The ones of rows, in the form of CSR.
struct Ones {
    Array<const Int> starts;
    Array<const Index> items;

    Int n_rows() const { return starts.shape[0] - 1; }
    Array<const Index> of(Int row) const { return {items.data + starts[row], {starts[row + 1] - starts[row]}}; }
};

}  // namespace

// The code tables of some classes; several threads may set different ones.
struct Encoder {
    explicit Encoder(Int n_tables) : tables(n_tables) {}
    Encoder(const Encoder&) = delete;

    std::vector<std::unique_ptr<const CodeTable>> tables;

    void set_code_table(Int a, Matrix<const bool> patterns, Array<const double> pattern_nats,
                        Array<const double> item_nats) {
        tables.at(a) = std::make_unique<const CodeTable>(patterns, pattern_nats, item_nats);
    }
};

// Write the columns in which every row has a one; starts are given.
void list_ones(Matrix<const bool> rows, Array<const Int> starts, Array<Index> items) {
    for (Int j = 0; j < rows.shape[0]; ++j) {
        const bool* row = rows.data + j * rows.shape[1];
        Index* out = items.data + starts[j];
        for (Int i = 0; i < rows.shape[1]; ++i) {
            if (row[i]) *out++ = static_cast<Index>(i);
        }
    }
}

// The nats of every row by every table, (m, c).
void encode_by_all(const Encoder& encoder, const Ones& rows, Matrix<double> lengths) {
    for (Int a = 0; a < lengths.shape[1]; ++a) {
        Row row(*encoder.tables[a]);
        for (Int j = 0; j < rows.n_rows(); ++j) {
            row.start(rows.of(j));
            row.choose();
            lengths(j, a) = row.length();
            row.finish(rows.of(j));
        }
    }
}

// Call a function with every row by a table of its own, without patterns, and the number of the row.
template <class F>
void for_own_tables(const Encoder& encoder, const Ones& rows, Array<const Int> table_of, F function) {
    for (Int a = 0; a < static_cast<Int>(encoder.tables.size()); ++a) {
        const Int* own = std::find(table_of.begin(), table_of.end(), a);
        if (own == table_of.end()) continue;
        Row row(*encoder.tables[a]);
        for (; own != table_of.end(); own = std::find(own + 1, table_of.end(), a)) {
            const Int j = own - table_of.begin();
            row.start(rows.of(j));
            function(row, j);
            row.finish(rows.of(j));
        }
    }
}

// The patterns that every row uses, (m, r), and its nats, (m,), by a table of its own.
void encode_by_own(
    const Encoder& encoder, const Ones& rows, Array<const Int> table_of, Matrix<bool> usage, Array<double> lengths
) {
    for_own_tables(encoder, rows, table_of, [&](Row& row, Int j) {
        row.choose();
        row.used().write(usage.at(j));
        lengths[j] = row.length();
    });
}

// Change the patterns that every row uses, (m, r), where others are not longer.
void shorten(const Encoder& encoder, const Ones& rows, Array<const Int> table_of, Matrix<bool> usage) {
    for_own_tables(encoder, rows, table_of, [&](Row& row, Int j) {
        row.choose();
        const Usage chosen = row.used();
        const double saved = row.saved();
        row.clear();
        row.start(rows.of(j));
        row.use(usage.at(j));
        if (saved < row.saved() || chosen == row.used()) return;
        chosen.write(usage.at(j));
    });
}

// The nats, (m,), of rows of a class by its patterns and codes and by the patterns that they use, (m, r), which are
// given; and of how many parts their codes consist, (m,). Only of the rows whose class, (m,), is this one. An item
// stands for some columns.
void lengths_of_usage(
    Matrix<const bool> patterns,
    Array<const double> pattern_nats,
    Array<const double> item_nats,
    Array<const Int> weights,
    const Ones& rows,
    Array<const Int> classes,
    Int a,
    Matrix<const bool> usage,
    Array<double> lengths,
    Array<Int> parts
) {
    enum : std::uint8_t { ZERO, ONE, COVERED };
    const Lists items = items_of_patterns(patterns);
    std::vector<std::uint8_t> cells(patterns.shape[1], ZERO);
    for (Int j = 0; j < rows.n_rows(); ++j) {
        if (classes[j] != a) continue;
        double length = 0;
        Int count = 0;
        const auto add_error = [&](Index i) {
            length += static_cast<double>(weights[i]) * item_nats[i];
            count += weights[i];
        };
        for (Index i : rows.of(j)) cells[i] = ONE;
        for (Int s = 0; s < usage.shape[1]; ++s) {
            if (!usage(j, s)) continue;
            length += pattern_nats[s];
            ++count;
            for (Index i : items.of(s)) {
                // A zero that is covered is an error, once.
                if (cells[i] == ZERO) add_error(i);
                cells[i] = COVERED;
            }
        }
        for (Index i : rows.of(j)) {
            if (cells[i] == ONE) add_error(i);
            cells[i] = ZERO;
        }
        for (Int s = 0; s < usage.shape[1]; ++s) {
            if (!usage(j, s)) continue;
            for (Index i : items.of(s)) cells[i] = ZERO;
        }
        lengths[j] = length;
        parts[j] = count;
    }
}

}  // namespace saltmine

void bind_encoding(nb::module_& core) {
    using namespace saltmine;
    nb::class_<Encoder>(core, "Encoder")
        .def(nb::init<Int>())
        .def("set_code_table", &Encoder::set_code_table, WithoutLock())
        .def("encode_by_all", encode_by_all, WithoutLock())
        .def("encode_by_own", encode_by_own, WithoutLock())
        .def("shorten", shorten, WithoutLock());
    def_all(core, "list_ones, lengths_of_usage", list_ones, lengths_of_usage);
}
