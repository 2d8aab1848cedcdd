// Keys of rows and columns by which identical ones are found, and the rows and columns that stay.
//
// A key has 128 bits: two words. Sums of words wrap around, as they are meant to.
#include "bindings.hpp"
#include "bits.hpp"
#include "stored.hpp"

namespace saltmine {
namespace {

using Keys = Matrix<Word>;
using Numbers = Matrix<const Word>;

inline void add(Word* key, const Word* number) {
    key[0] += number[0];
    key[1] += number[1];
}

// The number, or nothing: without a branch, which a processor would guess wrongly at one cell in ten.
inline Word only_if(bool one, Word number) { return number & -static_cast<Word>(one); }

// Add the number of every row to the keys of the columns that it has ones in.
void add_dense(Matrix<const bool> matrix, Numbers numbers, Keys keys) {
    for (Int j = 0; j < matrix.shape[0]; ++j) {
        const bool* row = &matrix(j, 0);
        const Word low = numbers(j, 0), high = numbers(j, 1);
        for (Int i = 0; i < matrix.shape[1]; ++i) {
            keys(i, 0) += only_if(row[i], low);
            keys(i, 1) += only_if(row[i], high);
        }
    }
}

// Add the numbers of its columns to the key of every row.
void sum_dense(Matrix<const bool> matrix, Numbers numbers, Keys keys) {
    for (Int j = 0; j < matrix.shape[0]; ++j) {
        const bool* row = &matrix(j, 0);
        Word low = 0, high = 0;
        for (Int i = 0; i < matrix.shape[1]; ++i) {
            low += only_if(row[i], numbers(i, 0));
            high += only_if(row[i], numbers(i, 1));
        }
        keys(j, 0) += low;
        keys(j, 1) += high;
    }
}

void add_stored(Stored rows, Numbers numbers, Keys keys) {
    with_arrays(rows, [&](auto starts, auto items) {
        for (Int j = 0; j + 1 < starts.size(); ++j) {
            for (Int k = starts[j]; k < starts[j + 1]; ++k) add(&keys(items[k], 0), &numbers(j, 0));
        }
    });
}

void sum_stored(Stored rows, Numbers numbers, Keys keys) {
    with_arrays(rows, [&](auto starts, auto items) {
        for (Int j = 0; j + 1 < starts.size(); ++j) {
            for (Int k = starts[j]; k < starts[j + 1]; ++k) add(&keys(j, 0), &numbers(items[k], 0));
        }
    });
}

// Add the numbers of the items, (n, 2), to the keys of the places, (64 W, 2), at which they have ones.
void add_bits_to_rows(Matrix<const Word> columns, Numbers numbers, Keys keys) {
    for (Int i = 0; i < columns.shape[0]; ++i) {
        for (Int w = 0; w < columns.shape[1]; ++w) {
            for (Word left = columns(i, w); left != 0; left &= left - 1) {
                add(&keys(64 * w + lowest_one(left), 0), &numbers(i, 0));
            }
        }
    }
}

// Add the numbers of the places, (64 W, 2), to the keys of the items, (n, 2), that have ones there.
void add_bits_to_columns(Matrix<const Word> columns, Numbers numbers, Keys keys) {
    for (Int i = 0; i < columns.shape[0]; ++i) {
        Word sums[2] = {keys(i, 0), keys(i, 1)};
        for (Int w = 0; w < columns.shape[1]; ++w) {
            for (Word left = columns(i, w); left != 0; left &= left - 1) add(sums, &numbers(64 * w + lowest_one(left), 0));
        }
        keys(i, 0) = sums[0];
        keys(i, 1) = sums[1];
    }
}

// At most half full, so that few places are looked at.
std::vector<Int> empty_table(Int count) {
    Int size = 2;
    while (size <= 2 * count) size *= 2;
    return std::vector<Int>(size, -1);
}

// Give equal keys the same number, in order of appearance; return how many there are.
// Open addressing: the next place where one is taken.
Int number_keys(Numbers keys, Array<Int> number, Array<Int> first) {
    std::vector<Int> table = empty_table(keys.shape[0]);
    const Word mask = table.size() - 1;
    Int count = 0;
    for (Int i = 0; i < keys.shape[0]; ++i) {
        Word place = keys(i, 0) & mask;
        auto holds_another = [&](Int known) {
            return keys(first[known], 0) != keys(i, 0) || keys(first[known], 1) != keys(i, 1);
        };
        while (table[place] >= 0 && holds_another(table[place])) place = (place + 1) & mask;
        if (table[place] < 0) {
            table[place] = count;
            first[count++] = i;
        }
        number[i] = table[place];
    }
    return count;
}

// Count the entries of these rows in chosen columns; those of row k go to sizes[k + 1].
void count_chosen(Stored matrix, Array<const Int> rows, Array<const bool> chosen, Array<Int> sizes) {
    with_arrays(matrix, [&](auto starts, auto items) {
        for (Int k = 0; k < rows.size(); ++k) {
            const Int row = rows[k];
            for (Int place = starts[row]; place < starts[row + 1]; ++place) sizes[k + 1] += chosen[items[place]];
        }
    });
}

// Copy these entries, with the new numbers of their columns.
void copy_chosen(Stored matrix, Array<const Int> rows, Array<const bool> chosen, Array<const Int> item_of,
                 Array<const Int> new_starts, NewPlaces new_items) {
    auto copy = [&](auto starts, auto items, auto copies) {
        using Place = std::remove_reference_t<decltype(copies[0])>;
        for (Int k = 0; k < rows.size(); ++k) {
            Int to = new_starts[k];
            for (Int place = starts[rows[k]]; place < starts[rows[k] + 1]; ++place) {
                const Int i = items[place];
                if (chosen[i]) copies[to++] = static_cast<Place>(item_of[i]);
            }
        }
    };
    std::visit(copy, matrix.starts, matrix.items, new_items);
}

}  // namespace
}  // namespace saltmine

SALTMINE_BIND(folding, saltmine, add_dense, sum_dense, add_stored, sum_stored, add_bits_to_rows, add_bits_to_columns,
              number_keys, count_chosen, copy_chosen)
