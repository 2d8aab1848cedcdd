// Curveball trades: random 0/1 data with the row and column sums of given data.
#include <numeric>
#include <utility>

#include "bindings.hpp"
#include "poll.hpp"
#include "random.hpp"

namespace saltmine {
namespace {

// Trades between two looks at Python.
constexpr Int TRADES_PER_LOOK = 1024;

// Memory of a trade: where an item is, and the items that one of two rows has and the other does not.
class Trader {
public:
    Trader(Int n_items, Int seed) : place_of_(n_items, NOWHERE), pool_(n_items), random_(seed) {}

    void shuffle(std::vector<Int>& order) {
        for (Int k = static_cast<Int>(order.size()) - 1; k > 0; --k) std::swap(order[k], order[random_.below(k + 1)]);
    }

    // Deal out anew what one of two rows has and the other does not.
    void trade(Array<Int> first, Array<Int> second) {
        fill_pool(first, second);
        dealt_ = 0;
        deal(first);
        deal(second);
        // The first row still has what is in both: it was never moved.
        for (Int item : first) place_of_[item] = NOWHERE;
    }

private:
    enum Place : std::uint8_t { NOWHERE, IN_FIRST, IN_BOTH };

    void fill_pool(Array<Int> first, Array<Int> second) {
        size_ = 0;
        for (Int item : first) place_of_[item] = IN_FIRST;
        for (Int item : second) {
            if (place_of_[item] == IN_FIRST) {
                place_of_[item] = IN_BOTH;
            } else {
                pool_[size_++] = item;
            }
        }
        for (Int item : first) {
            if (place_of_[item] == IN_BOTH) continue;
            place_of_[item] = NOWHERE;
            pool_[size_++] = item;
        }
    }

    void deal(Array<Int> row) {
        for (Int& item : row) {
            if (place_of_[item] == IN_BOTH) continue;
            // The next card of a pool that is shuffled as it is dealt.
            std::swap(pool_[dealt_], pool_[dealt_ + random_.below(size_ - dealt_)]);
            item = pool_[dealt_++];
        }
    }

    std::vector<Place> place_of_;
    std::vector<Int> pool_;
    Int size_ = 0, dealt_ = 0;
    Random random_;
};

// Let all rows trade with random partners, in place; row i has the items from starts[i] to starts[i + 1].
void trade_rows(Array<const Int> starts, Array<Int> items, Int n_items, Int rounds, Int seed) {
    std::vector<Int> order(starts.size() - 1);
    std::iota(order.begin(), order.end(), Int{0});
    auto row = [&](Int i) { return Array<Int>{&items[starts[i]], {starts[i + 1] - starts[i]}}; };
    Trader trader(n_items, seed);
    Watch watch;
    for (Int round = 0; round < rounds; ++round) {
        trader.shuffle(order);
        for (std::size_t k = 0; k + 1 < order.size(); k += 2) {
            if (k / 2 % TRADES_PER_LOOK == 0) watch.look();
            trader.trade(row(order[k]), row(order[k + 1]));
        }
    }
}

}  // namespace
}  // namespace saltmine

SALTMINE_BIND(swap, saltmine, trade_rows)
