// Ways to choose, and lengths of codes by their own rates; in nats.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "views.hpp"

namespace saltmine {

// Logarithms of factorials are kept up to this one.
constexpr Word KEPT_FACTORIALS = 1 << 14;

// std::lgamma writes the sign to a variable that all threads share.
inline double log_gamma(double number) {
    int sign;
    return ::lgamma_r(number, &sign);
}

inline double log_factorial(Int number) {
    // Made at the first call, by one thread.
    static const std::vector<double> kept = [] {
        std::vector<double> values(KEPT_FACTORIALS);
        for (Word k = 0; k < KEPT_FACTORIALS; ++k) values[k] = log_gamma(k + 1.0);
        return values;
    }();
    // Without a sign: what is negative is not kept either.
    return static_cast<Word>(number) < KEPT_FACTORIALS ? kept[number] : log_gamma(number + 1.0);
}

inline double log_choices(Int size, Int chosen) {
    return log_factorial(size) - log_factorial(chosen) - log_factorial(size - chosen);
}

inline double item_choices(Int n_items, Int chosen, double codes) {
    if (chosen == 0) return 0.0;
    double by_code = codes - log_factorial(chosen);
    // Sizes have the weights 1 / (k (k + 1)), and each half of the weight costs log 2.
    return std::min(by_code, log_choices(n_items, chosen)) + std::log(2.0 * chosen * (chosen + 1.0));
}

inline double rate_length(Int ones, Int zeros) {
    if (ones == 0 || zeros == 0) return 0.0;
    double size = static_cast<double>(ones + zeros);
    return -ones * std::log(ones / size) - zeros * std::log(zeros / size);
}

}  // namespace saltmine
