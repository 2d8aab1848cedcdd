#include "model.hpp"

#include <algorithm>
#include <cmath>

#include "hash.hpp"

namespace saltmine {

namespace {

constexpr double UNITS_PER_NAT = 4294967296.0;

// A number that tells different rows and items apart, and patterns of different times: others have changed since.
Word version_of(const std::vector<Word>& rows, const Items& items, Word n_changes) {
    Word version = mix(n_changes + 0x9E3779B97F4A7C15ull);
    for (Word row : rows) version = mix(version ^ row) + 1;
    for (std::int32_t i : items.numbers) version = mix(version ^ static_cast<Word>(i)) + 3;
    for (Word carriers : items.carriers) version = mix(version ^ carriers) + 5;
    return version;
}

}  // namespace

Model::Model(const Data& of, Array<const Int> item_counts, Int n_slots)
    : data(&of),
      slots(n_slots),
      covered(of.columns.size()),
      covered_twice(of.columns.size()),
      errors(item_counts.begin(), item_counts.end()),
      open_size(of.n_items()),
      open_ones(item_counts.begin(), item_counts.end()),
      n_classes_(of.n_classes()),
      n_words_(of.n_words()),
      class_words_((n_classes_ + 63) / 64),
      n_rows_(0),
      class_of_word_(n_words_),
      every_class_(class_words_),
      planes_(1, std::vector<Word>(of.columns.size())),
      carried_(n_words_),
      scratch_(n_classes_) {
    for (Int a = 0; a < n_classes_; ++a) {
        n_rows_ += of.class_sizes[a];
        every_class_[a / 64] |= Word{1} << (a % 64);
        for (Int w = of.edges[a]; w < of.edges[a + 1]; ++w) class_of_word_[w] = a;
    }
    Int all_rows = 0;
    for (Int w = 0; w < n_words_; ++w) all_rows += of.row_weights[w] * count_ones(of.row_mask[w]);
    for (Int i = 0; i < of.n_items(); ++i) {
        open_size[i] = all_rows;
        change(errors_code, i, 0, errors[i]);
    }
    for (Pattern& slot : slots) slot.alike.assign(class_words_, 0);
}

// ---------------------------------------------------------------------- rows

Int Model::count_rows(const std::vector<Word>& rows) const {
    Int count = 0;
    for (Int w = 0; w < n_words_; ++w) count += data->row_weights[w] * count_ones(rows[w]);
    return count;
}

std::vector<Int> Model::rows_by_class(const std::vector<Word>& rows) const {
    std::vector<Int> counts(n_classes_);
    for (Int w = 0; w < n_words_; ++w) counts[class_of_word_[w]] += data->row_weights[w] * count_ones(rows[w]);
    return counts;
}

std::vector<std::int32_t> Model::words_of(const std::vector<Word>& rows) const {
    std::vector<std::int32_t> words;
    for (Int w = 0; w < n_words_; ++w) {
        if (rows[w] != 0) words.push_back(static_cast<std::int32_t>(w));
    }
    return words;
}

std::vector<Segment> Model::segments(const std::vector<std::int32_t>& words) const {
    std::vector<Segment> parts;
    for (std::size_t k = 0; k < words.size(); ++k) {
        Int a = class_of_word_[words[k]];
        if (parts.empty() || parts.back().a != a) parts.push_back({a, static_cast<Int>(k), 0});
        parts.back().end = static_cast<Int>(k + 1);
    }
    return parts;
}

// ---------------------------------------------------------------------- f

void Model::change(ErrorsCode& code, Int i, Int before, Int after) const {
    if (before == after) return;
    const Costs& costs = data->costs;
    Int weight = costs.weights[i];
    auto add = [&](Int count, Int sign) {
        if (count <= 0) return;
        double length = weight * (costs.counted[count] + std::min(costs.codes[i], 1e6));
        code.total += sign * weight * count;
        code.weight += sign * weight * (count + 1);
        code.length += sign * static_cast<Int>(std::llrint(length * UNITS_PER_NAT));
    };
    add(before, -1);
    add(after, 1);
}

double Model::length_with(const ErrorsCode& code, Int s, Int used, double extra) const {
    Int total = code.total, weight = code.weight;
    double length = 0.0;
    for (Int t = 0; t < static_cast<Int>(slots.size()); ++t) {
        Int rows = t == s ? used : slots[t].used;
        if (rows == 0) continue;
        total += rows;
        weight += rows + 1;
        length += data->costs.counted[rows] + (t == s ? extra : slots[t].extra);
    }
    length += static_cast<double>(code.length) / UNITS_PER_NAT;
    return length + weight * std::log(std::max(static_cast<double>(total), 1.0));
}

double Model::length_without(Int s) {
    const Pattern& pattern = slots[s];
    std::vector<Segment> parts = segments(pattern.words);
    ErrorsCode code = errors_code;
    for (std::size_t k = 0; k < pattern.items.size(); ++k) {
        count_cells(pattern, true, k, parts, scratch_);
        Int i = pattern.items.numbers[k], left = errors[i];
        for (const Segment& part : parts) {
            if (carries(pattern.items, k, part.a)) left += scratch_.open_ones[part.a] - scratch_.open_zeros[part.a];
        }
        change(code, i, errors[i], left);
    }
    return length_with(code, s, 0, 0.0);
}

Int Model::total_usage() const {
    Int total = 0;
    for (const Pattern& pattern : slots) total += pattern.used;
    return total;
}

Int Model::count_items(const Items& items) const {
    Int count = 0;
    for (std::int32_t i : items.numbers) count += data->costs.weights[i];
    return count;
}

// ---------------------------------------------------------------------- patterns come and go

void Model::make_room(Int count) {
    Int empty = 0;
    for (const Pattern& pattern : slots) empty += pattern.used == 0;
    if (empty < count) grow(2 * static_cast<Int>(slots.size()) + count);
}

void Model::grow(Int n_slots) {
    if (static_cast<Int>(slots.size()) >= n_slots) return;
    slots.resize(n_slots);
    for (Pattern& slot : slots) slot.alike.resize(class_words_);
}

Int Model::first_empty() const {
    for (std::size_t s = 0; s < slots.size(); ++s) {
        if (slots[s].used == 0) return static_cast<Int>(s);
    }
    return -1;
}

std::vector<Int> Model::patterns() const {
    std::vector<Int> on;
    for (std::size_t s = 0; s < slots.size(); ++s) {
        if (slots[s].used > 0) on.push_back(static_cast<Int>(s));
    }
    return on;
}

void Model::count_cells(const Pattern& pattern, bool is_there, std::size_t k, const std::vector<Segment>& parts,
                        CellCounts& cells) const {
    Int i = pattern.items.numbers[k];
    const Word* column = data->column(i);
    for (const Segment& part : parts) {
        bool carried = carries(pattern.items, k, part.a);
        const Word* of_others = (is_there && carried ? covered_twice.data() : covered.data()) + i * n_words_;
        Int open = 0, open_ones_here = 0, ones = 0;
        // From the first word with rows to the last: that runs on several words at a time.
        for (Int w = pattern.words[part.begin]; w <= pattern.words[part.end - 1]; ++w) {
            Int weight = data->row_weights[w];
            Word rows = pattern.rows[w], open_here = rows & ~of_others[w];
            open += weight * count_ones(open_here);
            open_ones_here += weight * count_ones(open_here & column[w]);
            ones += weight * count_ones(rows & column[w]);
        }
        cells.open_ones[part.a] = open_ones_here;
        cells.open_zeros[part.a] = open - open_ones_here;
        cells.ones[part.a] = ones;
    }
}

double Model::item_extra(const Items& items, std::size_t k, const std::vector<Segment>& parts,
                         const CellCounts& cells) const {
    const Costs& costs = data->costs;
    Int i = items.numbers[k], n_carriers = count_carriers(items, k);
    if (n_carriers == n_classes_) return costs.weights[i] * costs.codes[i];
    // Classes without rows have no ones.
    double specificity = 0.0;
    for (Int a = 0; a < n_classes_; ++a) {
        if (!carries(items, k, a)) continue;
        for (const Segment& part : parts) {
            if (!carries(items, k, part.a)) specificity += costs.cross(a, part.a) * cells.ones[part.a];
        }
    }
    return costs.weights[i] * (n_carriers * costs.codes[i] + specificity);
}

void Model::put(Int s, std::vector<Word> rows, Items items) {
    Pattern& pattern = slots[s];
    pattern.rows = std::move(rows);
    pattern.items = std::move(items);
    pattern.words = words_of(pattern.rows);
    pattern.used = count_rows(pattern.rows);
    pattern.version = version_of(pattern.rows, pattern.items, n_changes);
    pattern.extra = 0.0;
    std::vector<Segment> parts = segments(pattern.words);
    for (std::size_t k = 0; k < pattern.items.size(); ++k) {
        Int i = pattern.items.numbers[k], before = errors[i];
        count_cells(pattern, false, k, parts, scratch_);
        pattern.extra += item_extra(pattern.items, k, parts, scratch_);
        for (const Segment& part : parts) {
            if (!carries(pattern.items, k, part.a)) continue;
            Int open_ones_here = scratch_.open_ones[part.a], open_zeros_here = scratch_.open_zeros[part.a];
            errors[i] += open_zeros_here - open_ones_here;
            open_size[i] -= open_ones_here + open_zeros_here;
            open_ones[i] -= open_ones_here;
            cover(pattern, i, part);
        }
        change(errors_code, i, before, errors[i]);
    }
}

// Count one pattern more in these cells: binary numbers are added plane by plane, until nothing is carried over.
void Model::cover(const Pattern& pattern, Int i, const Segment& part) {
    Int first = pattern.words[part.begin], end = pattern.words[part.end - 1] + 1;
    Word *once = covered.data() + i * n_words_, *twice = covered_twice.data() + i * n_words_, *carried = carried_.data();
    for (Int w = first; w < end; ++w) {
        carried[w] = pattern.rows[w];
        twice[w] |= once[w] & carried[w];
        once[w] |= carried[w];
    }
    Word any = 1;
    for (std::size_t k = 0; any != 0; ++k) {
        if (k == planes_.size()) planes_.emplace_back(data->columns.size());
        Word* plane = planes_[k].data() + i * n_words_;
        any = 0;
        for (Int w = first; w < end; ++w) {
            Word both = plane[w] & carried[w];
            plane[w] ^= carried[w];
            carried[w] = both;
            any |= both;
        }
    }
}

// Count one pattern less in these cells.
void Model::uncover(const Pattern& pattern, Int i, const Segment& part) {
    Int first = pattern.words[part.begin], end = pattern.words[part.end - 1] + 1;
    Word *once = covered.data() + i * n_words_, *twice = covered_twice.data() + i * n_words_, *borrowed = carried_.data();
    for (Int w = first; w < end; ++w) {
        borrowed[w] = pattern.rows[w];
        twice[w] = 0;
    }
    for (std::size_t k = 0; k < planes_.size(); ++k) {
        Word* plane = planes_[k].data() + i * n_words_;
        for (Int w = first; w < end; ++w) {
            Word missing = ~plane[w] & borrowed[w];
            plane[w] ^= borrowed[w];
            borrowed[w] = missing;
            if (k > 0) twice[w] |= plane[w];
        }
    }
    const Word* ones = planes_[0].data() + i * n_words_;
    for (Int w = first; w < end; ++w) once[w] = ones[w] | twice[w];
}

void Model::take_out(Int s) {
    Pattern& pattern = slots[s];
    std::vector<Segment> parts = segments(pattern.words);
    for (std::size_t k = 0; k < pattern.items.size(); ++k) {
        Int i = pattern.items.numbers[k], before = errors[i];
        count_cells(pattern, true, k, parts, scratch_);
        for (const Segment& part : parts) {
            if (!carries(pattern.items, k, part.a)) continue;
            Int open_ones_here = scratch_.open_ones[part.a], open_zeros_here = scratch_.open_zeros[part.a];
            errors[i] += open_ones_here - open_zeros_here;
            open_size[i] += open_ones_here + open_zeros_here;
            open_ones[i] += open_ones_here;
            uncover(pattern, i, part);
        }
        change(errors_code, i, before, errors[i]);
    }
    pattern.rows.clear();
    pattern.words.clear();
    pattern.items.clear();
    pattern.used = 0;
    pattern.extra = 0.0;
    pattern.version = 0;
}

Backup Model::keep(const std::vector<Int>& patterns) const {
    Backup kept;
    kept.slots = patterns;
    for (Int s : patterns) {
        kept.patterns.push_back(slots[s]);
        const auto& numbers = slots[s].items.numbers;
        kept.items.insert(kept.items.end(), numbers.begin(), numbers.end());
    }
    std::sort(kept.items.begin(), kept.items.end());
    kept.items.erase(std::unique(kept.items.begin(), kept.items.end()), kept.items.end());
    auto add_words = [&](const std::vector<Word>& cells, Int i) {
        kept.words.insert(kept.words.end(), cells.begin() + i * n_words_, cells.begin() + (i + 1) * n_words_);
    };
    kept.words.reserve(kept.items.size() * n_words_ * (2 + planes_.size()));
    for (std::int32_t i : kept.items) {
        kept.counts.insert(kept.counts.end(), {errors[i], open_size[i], open_ones[i]});
        add_words(covered, i);
        add_words(covered_twice, i);
        for (const std::vector<Word>& plane : planes_) add_words(plane, i);
    }
    kept.n_planes = planes_.size();
    kept.code = errors_code;
    return kept;
}

void Model::restore(const Backup& kept) {
    for (std::size_t k = 0; k < kept.slots.size(); ++k) slots[kept.slots[k]] = kept.patterns[k];
    auto words = kept.words.begin();
    auto take_words = [&](std::vector<Word>& cells, Int i) {
        std::copy_n(words, n_words_, cells.begin() + i * n_words_);
        words += n_words_;
    };
    for (std::size_t k = 0; k < kept.items.size(); ++k) {
        Int i = kept.items[k];
        errors[i] = kept.counts[3 * k];
        open_size[i] = kept.counts[3 * k + 1];
        open_ones[i] = kept.counts[3 * k + 2];
        take_words(covered, i);
        take_words(covered_twice, i);
        for (std::size_t plane = 0; plane < kept.n_planes; ++plane) take_words(planes_[plane], i);
        // Planes that came later had nothing to count then.
        for (std::size_t plane = kept.n_planes; plane < planes_.size(); ++plane) {
            std::fill_n(planes_[plane].begin() + i * n_words_, n_words_, 0);
        }
    }
    errors_code = kept.code;
}

}  // namespace saltmine
