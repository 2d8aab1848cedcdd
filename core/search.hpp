// Local search on a binary model by the exact description length: saltmine/solver/local_search.py says what it is for.
//
// Every move takes some patterns away, fits others in their place and stays if f has fallen: refit (a pattern by
// itself), drop (by nothing), merge (two by one), split (one by two), add (nothing by one).
#pragma once

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "fit.hpp"
#include "poll.hpp"
#include "team.hpp"

namespace saltmine {

using Rows = std::vector<Word>;
// Patterns and their versions: what was tried in vain is not tried again before one of them changes.
using Attempt = std::vector<std::pair<Int, Word>>;

// What the search is given and never changes.
struct Problem {
    Problem(const Data& data, Array<const Int> item_counts, Matrix<const Word> strata, bool may_alter, double log_alpha);

    Data data;
    Array<const Int> item_counts;
    Matrix<const Word> strata;  // (G, W): groups of rows of about the same size
    bool may_alter;             // whether patterns may differ between classes
    double log_alpha;
    std::vector<std::int32_t> stratum_of;  // (64 W,)
    std::vector<Int> stratum_sizes;        // (G, c)
    Int n_items;                           // of the input

    // Odds of a one in every row, and their logarithms, (64 W,), for the typical row: small rows count as usual ones,
    // as others may be large only by other patterns.
    std::vector<double> typical_odds, typical_shifts;

    LazyRowItems row_items;
};

// How patterns are replaced.
struct Exchange {
    bool force = false;    // accept any f
    bool test = false;     // ask every new pattern for evidence
    double slack = 0.0;    // by how much f may rise
    Sort new_sort = FREE;  // sort of new patterns, but for one in the place of one
};

class Search {
public:
    Search(std::shared_ptr<const Problem> problem, Int n_slots);

    Model model;
    double length;

    // When moves have to end; what was found until then stays.
    Deadline deadline;

    void update() { length = model.length(); }

    // ---- the whole state, also what was tried in vain
    std::vector<Word> save() const;
    void load(Array<const Word> state);  // into a search without patterns

    // ---- moves
    void refit(Team& team, bool trim);
    bool merge(Team& team);
    bool split(Team& team);
    bool try_without(Int s);
    bool replace(const std::vector<Int>& old, const std::vector<Rows>& starts, const Exchange& how = {});
    bool add_fixed(const Items& items, Rows start);
    void fit_rows(Int s, const Items& items, Rows& rows);
    // f with every start as a new pattern on its own; and if it is below the present f, the evidence for it.
    void screen(Team& team, Matrix<const Word> starts, Array<double> lengths, Array<double> evidence);
    // Add patterns from these starts, one after the other, where they are shown, while there are fewer than the limit.
    bool grow(Team& team, const std::vector<Rows>& starts, Int limit);
    // Put the patterns back one by one, each tested given those before it; those that never pass are gone.
    bool drop_unsupported(Team& team);

    // ---- tests
    bool is_typical_row(Int s) const;
    double together(Int s, const Rows& among) const;
    double item_choice(const Items& items) const;
    double use_evidence(const Items& items, Int used) const;
    double pattern_evidence(Int s) const;
    double evidence_with(const Rows& rows, const Items& items) const;  // of a pattern that is not there
    bool adds(Int s, Int a) const;
    Int count_found() const;
    double evidence_of(const Rows& rows, const Items& items, Int s, bool as_typical) const;
    std::vector<double> use_log_p(const Items& items, Int used) const;
    std::vector<double> added_log_p(Int s) const;
    Rows carriers(const Items& items, Int used) const;
    std::vector<Int> touched(const std::vector<Int>& changed) const;

private:
    // What two patterns have in common.
    struct Common {
        Int items, rows;
    };

    std::shared_ptr<const Problem> problem_;
    PatternFit fitting_;
    std::set<Attempt> tried_;
    Watch watch_;
    std::vector<std::unique_ptr<Search>> copies_;

    bool fit(Int s, const Rows& start, double limit);
    bool keep_shown(Int s);
    bool refit_one(Int s, bool trim);
    Attempt attempt_on(const std::vector<Int>& patterns) const;
    bool replace_two(Int s, Int t, const std::vector<Rows>& starts);
    bool try_merge(Int s, Int t, double similar);
    bool try_split(Int s);
    bool split_one(Int s, Int a);
    double own_items(Int s, Int a) const;
    Common overlap(Int s, Int t) const;
    double similarity(Int s, Int t) const;
    Int smaller(Int s, Int t) const;
    Items shared_items(const Items& items) const;

    // Try moves in their order, several at a time on copies of the model; those behind one that changed it are tried
    // again, so that the result does not depend on the number of threads. ``still`` says whether a move is to be tried,
    // ``key`` under which it is remembered as tried, and ``changed`` is told of those that changed the model.
    template <class Move, class Still, class Key, class Try, class Changed>
    void in_order(Team& team, const std::vector<Move>& moves, Still still, Key key, Try attempt, Changed changed);
    // Try these moves side by side; return the place of the first that changes the model, which is then as after it.
    template <class Move, class Try>
    std::size_t side_by_side(Team& team, const std::vector<Move>& moves, Try attempt);
    void follow(const Search& other);
};

}  // namespace saltmine
