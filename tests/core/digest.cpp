// Prints digests of what every loop of a processor gives for the same random numbers: benchmarks/builds.py compares them.
#include <cstdio>
#include <random>
#include <vector>

#include "kernels/kernels.hpp"

using namespace saltmine;

static std::mt19937_64 random_words(7);

static std::vector<Word> words(Int count) {
    std::vector<Word> made(count);
    for (Word& each : made) each = random_words() & random_words();
    return made;
}

// Numbers in [0, 1) that single and double precision have alike.
template <class T>
static std::vector<T> numbers(Int count) {
    std::vector<T> made(count);
    for (T& each : made) each = static_cast<T>(static_cast<double>(random_words() >> 40) / 16777216.0);
    return made;
}

template <class T>
static void show(const char* name, const std::vector<T>& values) {
    Word digest = 1469598103934665603u;
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
    for (std::size_t k = 0; k < values.size() * sizeof(T); ++k) digest = (digest ^ bytes[k]) * 1099511628211u;
    std::printf("%-16s %016llx\n", name, static_cast<unsigned long long>(digest));
}

static void show_rows() {
    constexpr Int W = 9, N = 13;
    std::vector<std::vector<Word>> columns, cells;
    std::vector<double> worth = numbers<double>(N), sums(64 * W);
    std::vector<Term> terms;
    for (Int i = 0; i < N; ++i) {
        columns.push_back(words(W));
        cells.push_back(words(W));
    }
    for (Int i = 0; i < N; ++i) {
        terms.push_back({columns[i].data(), i % 5 ? cells[i].data() : nullptr, i % 2 ? ~Word{0} : 0, worth[i]});
    }
    std::vector<Word> mask = words(W), rows(W);
    kernels->choose_rows(terms.data(), N, mask.data(), 0, W, 0.7, rows.data());
    show("choose_rows", rows);
    kernels->weigh_rows(terms.data(), N, mask.data(), 1, W, sums.data());
    show("weigh_rows", sums);
    kernels->add_to_rows(columns[0][0] & ~columns[1][0], columns[1][0], 37, 0.3, sums.data());
    show("add_to_rows", sums);
    std::vector<Int> weights(W, 3), counts(N);
    kernels->count_open(mask.data(), cells[0].data(), columns[0].data(), weights.data(), 0, W, &counts[9], &counts[10]);
    counts[11] = kernels->count_common(columns[0].data(), columns[1].data(), weights.data(), 0, W);
    counts[12] = kernels->paying_words(mask.data(), cells[2].data(), columns[4].data());
    kernels->add_counts(columns[2].data(), columns[3][0], 5, W, counts.data());
    show("counts", counts);
    std::vector<double> one = numbers<double>(48), other = numbers<double>(48);
    show("largest_sum", std::vector<double>{kernels->largest_sum(one.data(), other.data(), 48)});
}

static void show_sums() {
    const std::vector<Index> ones{0, 3, 2, 7};
    for (Int width : {1, 3, 8, 24, 37}) {
        std::vector<float> floats = numbers<float>(8 * width), sums(width);
        std::vector<double> doubles = numbers<double>(8 * width), others(width, 0.5);
        kernels->add_floats(ones.data(), ones.data() + 4, floats.data(), width, true, sums.data());
        kernels->add_doubles(ones.data(), ones.data() + 4, doubles.data(), width, false, others.data());
        show("add_floats", sums);
        show("add_doubles", others);
    }
}

static void show_steps() {
    constexpr Int C = 3, N = 41, R = 24, M = 50;
    auto draw = numbers<float>;
    auto X = draw(N * R), X_before = draw(N * R), V = draw(C * N * R), V_before = draw(C * N * R), Y = draw(M * R);
    auto Y_before = draw(M * R), weights = draw(C * N * R), P = draw(C * N * R), G = draw(C * R * R), u = draw(N);
    auto cross = draw(C * C), items = draw(N), X_steps = draw(R), V_steps = draw(C * R), product = draw(M * R);
    auto gram = draw(R * R), codes = draw(R), steps = draw(R);
    std::vector<float> scratch(step_scratch(C, R)), grams(C * R * R);
    RelaxedFactors factors{X.data(), X_before.data(), V.data(), V_before.data(), Y.data(), Y_before.data(), weights.data(), C, N, R};
    RelaxedCosts costs{u.data(), 1.7f, cross.data(), items.data()};
    kernels->step_items(factors, costs, {P.data(), G.data(), X_steps.data(), V_steps.data(), true}, {0.3f, 0.05f}, 2, N,
                        scratch.data(), grams.data());
    show("X", X);
    show("V", V);
    show("weights", weights);
    // What is below the diagonal is not asked for.
    for (Int k = 0; k < C * R * R; ++k) grams[k] = k % R < k / R % R ? 0.0f : grams[k];
    show("grams", grams);
    kernels->step_rows(factors, costs, {product.data(), gram.data(), codes.data(), steps.data()}, {0.3f, 0.05f}, 3, M,
                       scratch.data());
    show("Y", Y);
}

int main(int count, char** arguments) {
    if (const char* problem = choose_kernels(count > 1 ? arguments[1] : nullptr)) {
        std::printf("%s\n", problem);
        return 1;
    }
    show_rows();
    show_sums();
    show_steps();
}
