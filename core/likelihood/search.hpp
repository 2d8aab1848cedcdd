// The search: patterns are added, fitted again and taken away as long as the likelihood, less their price, grows.
#pragma once

#include <set>

#include "../poll.hpp"
#include "../team.hpp"
#include "starts.hpp"

namespace saltmine::likelihood {

struct Options {
    bool alterations = true;
    double class_prior = 0;   // of the rates of items by class; none: chance does not know the classes
    double least = 4.6;       // nats that a pattern has to gain
    Int max_patterns = 1000;
    Int n_threads = 1;
    double seconds = -1;      // until no more patterns are looked for; tests come after them; negative: no limit
};

class Search {
public:
    Search(Store store, Options options);

    void run();
    // Rows, of the input, that a pattern may have: starts beside those that the search finds.
    void start_from(const std::vector<Int>& rows);

    const Store& store() const { return store_; }
    const std::vector<Pattern>& patterns() const { return patterns_; }
    // Whether the time was too short to look for all patterns.
    bool was_short() const { return deadline_.was_over(); }
    const Doubles& evidence() const { return evidence_; }
    // What speaks for a set of items that all classes share, beside the patterns that there are.
    double evidence_of(const std::vector<Int>& items);

private:
    Store store_;
    Options options_;
    Chances chances_;
    Team team_;
    Watch watch_;
    Deadline deadline_;
    std::vector<Pattern> patterns_;
    Doubles evidence_;
    std::vector<Pattern> given_;
    // Items of two patterns that were better than one in their place: they are not tried again.
    std::set<std::pair<std::vector<Int>, std::vector<Int>>> apart_;

    // Close the cells of these items that patterns explain, and no others.
    void close(const std::vector<Int>& items);
    // Looks at Python and at the clock.
    bool is_over() {
        watch_.look();
        return deadline_.is_over();
    }
    void count(Int i);
    void fit_chance(int sweeps);
    void add(Pattern pattern);
    Pattern take(std::size_t s);
    std::vector<Pattern> fit_all(std::vector<Pattern> starts, int turns);
    bool is_led(const Pattern& start, const std::vector<Pattern>& found) const;
    bool grow(bool within);
    std::size_t first_of(bool within) const;
    bool refit(bool within);
    void stratify(std::vector<Pattern>& others);
    bool merge(bool within);
    bool split(bool within);
    bool gain_more(Fitter& fitter, Pattern (&halves)[2], double value);
    bool has_all(const std::vector<Pattern>& patterns) const;
    double objective(bool within) const;
    void improve(bool within);
    void replace(std::vector<Pattern> patterns);
    void test();
    // Nats that the next pattern has to gain.
    double needed() const;
};

}  // namespace saltmine::likelihood
