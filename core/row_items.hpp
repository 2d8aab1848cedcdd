// The items of every row, for data whose rows have few of them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "data.hpp"

namespace saltmine {

class RowItems {
public:
    // Where rows have more items than this share, columns are read faster.
    static constexpr double MOST = 0.125;

    explicit RowItems(const Data& data) : begin_(64 * data.n_words() + 1) {
        Int ones = 0, rows = 0;
        for (Word word : data.columns) ones += count_ones(word);
        for (Word word : data.row_mask) rows += count_ones(word);
        if (ones > MOST * static_cast<double>(rows * data.n_items())) {
            begin_.clear();
            return;
        }
        each_one(data, [&](Int, Int place) { ++begin_[place + 1]; });
        for (std::size_t place = 1; place < begin_.size(); ++place) begin_[place] += begin_[place - 1];
        items_.resize(ones);
        std::vector<Int> next(begin_.begin(), begin_.end() - 1);
        each_one(data, [&](Int i, Int place) { items_[next[place]++] = static_cast<std::int32_t>(i); });
    }

    bool are_there() const { return !begin_.empty(); }
    Int count(Int place) const { return begin_[place + 1] - begin_[place]; }
    const std::int32_t* begin(Int place) const { return items_.data() + begin_[place]; }
    const std::int32_t* end(Int place) const { return items_.data() + begin_[place + 1]; }

private:
    std::vector<Int> begin_;  // (64 W + 1,), or none
    std::vector<std::int32_t> items_;

    template <class Visit>
    static void each_one(const Data& data, Visit visit) {
        for (Int i = 0; i < data.n_items(); ++i) {
            for (Int w = 0; w < data.n_words(); ++w) {
                for (Word left = data.column(i)[w]; left != 0; left &= left - 1) visit(i, 64 * w + lowest_one(left));
            }
        }
    }
};

// The same, made when they are first asked for, by whichever thread.
class LazyRowItems {
public:
    explicit LazyRowItems(const Data& data) : data_(data) {}

    const RowItems& get() const {
        std::call_once(made_, [this] { items_ = std::make_unique<const RowItems>(data_); });
        return *items_;
    }

private:
    const Data& data_;
    mutable std::once_flag made_;
    mutable std::unique_ptr<const RowItems> items_;
};

}  // namespace saltmine
