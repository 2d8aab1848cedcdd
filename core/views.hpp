// Arrays that belong to somebody else, and the numbers that everything counts with.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace saltmine {

using Word = std::uint64_t;
using Int = std::int64_t;

// An array in C order that belongs to somebody else.
template <class T, int N>
struct View {
    T* data = nullptr;
    std::array<Int, N> shape{};

    Int size() const {
        Int product = 1;
        for (Int length : shape) product *= length;
        return product;
    }
    T& operator[](Int i) const {
        static_assert(N == 1, "an array of one dimension");
        return data[i];
    }
    T& operator()(Int i, Int j) const { return data[i * shape[1] + j]; }
    T& operator()(Int i, Int j, Int k) const { return data[(i * shape[1] + j) * shape[2] + k]; }
    T& operator()(Int i, Int j, Int k, Int l) const {
        return data[((i * shape[1] + j) * shape[2] + k) * shape[3] + l];
    }
    // Part i of the first dimension.
    View<T, N - 1> at(Int i) const {
        View<T, N - 1> part;
        Int stride = 1;
        for (int d = 1; d < N; ++d) stride *= part.shape[d - 1] = shape[d];
        part.data = data + i * stride;
        return part;
    }
    T* begin() const { return data; }
    T* end() const { return data + size(); }
    operator View<const T, N>() const { return {data, shape}; }
};

template <class T>
using Array = View<T, 1>;
template <class T>
using Matrix = View<T, 2>;

// Room for an array of one dimension as a view.
template <class T>
Array<T> view(std::vector<T>& values) {
    return {values.data(), {static_cast<Int>(values.size())}};
}
template <class T>
Array<const T> view(const std::vector<T>& values) {
    return {values.data(), {static_cast<Int>(values.size())}};
}

}  // namespace saltmine
