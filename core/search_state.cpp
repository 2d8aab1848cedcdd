// The state of a local search as one array of words, to go on from exactly there in another process.
//
// In this order: the number of slots and of changes so far; for every slot its sort, version, number of items and
// whether rows use it, the classes that may not add items, and where rows use it these, the items and who carries them;
// the number of attempts in vain, and for each how many patterns it was on, with their slots and versions.
#include <algorithm>

#include "search.hpp"

namespace saltmine {

namespace {

class Reader {
public:
    explicit Reader(Array<const Word> words) : words_(words) {}

    Word next() { return *take(1); }
    // A number below a limit.
    Int next_below(Word limit) {
        Word number = next();
        demand(number < limit);
        return static_cast<Int>(number);
    }
    const Word* take(Int count) {
        demand(count <= words_.size() - place_);
        place_ += count;
        return words_.data + place_ - count;
    }
    bool at_end() const { return place_ == words_.size(); }
    static void demand(bool holds) {
        if (!holds) throw std::invalid_argument("This is not the state of a search in this data.");
    }

private:
    Array<const Word> words_;
    Int place_ = 0;
};

}  // namespace

std::vector<Word> Search::save() const {
    std::vector<Word> words{model.slots.size(), model.n_changes};
    for (const Pattern& pattern : model.slots) {
        const Items& items = pattern.items;
        words.insert(words.end(), {static_cast<Word>(pattern.sort), pattern.version, items.size(), pattern.used > 0});
        words.insert(words.end(), pattern.alike.begin(), pattern.alike.end());
        if (pattern.used == 0) continue;
        words.insert(words.end(), pattern.rows.begin(), pattern.rows.end());
        for (std::int32_t number : items.numbers) words.push_back(static_cast<Word>(number));
        words.insert(words.end(), items.carriers.begin(), items.carriers.end());
    }
    words.push_back(tried_.size());
    for (const Attempt& attempt : tried_) {
        words.push_back(attempt.size());
        for (const auto& [slot, version] : attempt) words.insert(words.end(), {static_cast<Word>(slot), version});
    }
    return words;
}

void Search::load(Array<const Word> state) {
    Reader reader(state);
    const Data& data = problem_->data;
    Int n_words = data.n_words(), class_words = model.class_words(), n_items = data.n_items();
    Reader::demand(model.patterns().empty());
    Int n_slots = reader.next_below(static_cast<Word>(state.size()));
    model.grow(n_slots);
    Word n_changes = reader.next();
    for (Int s = 0; s < n_slots; ++s) {
        Sort sort = static_cast<Sort>(reader.next_below(TYPICAL + 1));
        Word version = reader.next();
        Int count = reader.next_below(static_cast<Word>(n_items) + 1);
        bool is_used = reader.next_below(2) == 1;
        const Word* alike = reader.take(class_words);
        if (is_used) {
            const Word* rows = reader.take(n_words);
            for (Int w = 0; w < n_words; ++w) Reader::demand((rows[w] & ~data.row_mask[w]) == 0);
            Items items;
            for (Int k = 0; k < count; ++k) {
                items.numbers.push_back(static_cast<std::int32_t>(reader.next_below(static_cast<Word>(n_items))));
                Reader::demand(k == 0 || items.numbers[k - 1] < items.numbers[k]);
            }
            const Word* carriers = reader.take(count * class_words);
            items.carriers.assign(carriers, carriers + count * class_words);
            model.put(s, Rows(rows, rows + n_words), std::move(items));
        }
        Pattern& pattern = model.slots[s];
        pattern.alike.assign(alike, alike + class_words);
        pattern.sort = sort;
        pattern.version = version;
    }
    model.n_changes = n_changes;
    tried_.clear();
    Int n_tried = reader.next_below(static_cast<Word>(state.size()));
    for (Int k = 0; k < n_tried; ++k) {
        Attempt attempt(reader.next_below(static_cast<Word>(n_slots) + 1));
        for (auto& [slot, version] : attempt) {
            slot = reader.next_below(static_cast<Word>(n_slots));
            version = reader.next();
        }
        tried_.insert(std::move(attempt));
    }
    Reader::demand(reader.at_end());
    update();
}

}  // namespace saltmine
