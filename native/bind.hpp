// Functions that Python calls: arguments are checked and given to an ordinary C++ function.
//
// Python packs every argument into two 64-bit numbers (see saltmine/native.py): what it is, and its value or where it
// is. Of an array that is numpy's description of it. No header of Python or numpy is needed, so one build serves every
// version of Python.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "python.hpp"

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

// ---------------------------------------------------------------------- arguments

struct Packed {
    Int kind;   // a letter: 'A' of an array, 'I' of a whole number, 'D' of a real one, 'O' of an object
    Int value;  // the number, or an address
};

// What numpy tells about an array: the struct of its array interface, which all of its versions have.
struct ArrayInterface {
    enum { IN_C_ORDER = 0x1, ALIGNED = 0x100, BYTES_IN_ORDER = 0x200, WRITEABLE = 0x400 };

    int version;
    int dimensions;
    char kind;
    int item_size;
    int flags;
    std::intptr_t* shape;
    std::intptr_t* strides;
    void* data;
    void* description;

    bool has(int flag) const { return (flags & flag) == flag; }
};

// The letter that the interface has for a type: with the size of an item it says which one it is.
template <class T>
constexpr char kind_of() {
    if constexpr (std::is_same_v<T, bool>) return 'b';
    if constexpr (std::is_floating_point_v<T>) return 'f';
    return std::is_signed_v<T> ? 'i' : 'u';
}

// The letter of a type in results.
template <class T>
constexpr char letter() {
    using Plain = std::remove_const_t<T>;
    if constexpr (std::is_same_v<Plain, bool>) return '?';
    if constexpr (std::is_same_v<Plain, std::uint8_t>) return 'B';
    if constexpr (std::is_same_v<Plain, std::uint64_t>) return 'L';
    if constexpr (std::is_same_v<Plain, std::int64_t>) return 'l';
    if constexpr (std::is_same_v<Plain, std::int32_t>) return 'i';
    if constexpr (std::is_same_v<Plain, std::int8_t>) return 'b';
    if constexpr (std::is_same_v<Plain, double>) return 'd';
    if constexpr (std::is_same_v<Plain, float>) return 'f';
}

class Arguments {
public:
    Arguments(const Packed* packed, Int count) : packed_(packed), count_(count) {}

    const Packed& next(char kind) {
        if (place_ == count_) throw std::invalid_argument("too few arguments");
        const Packed& argument = packed_[place_++];
        if (argument.kind != kind) {
            refuse(std::string("is of kind ") + static_cast<char>(argument.kind) + ", not " + kind);
        }
        return argument;
    }
    const ArrayInterface& next_array() { return array(next('A')); }

    // Whether the next argument is an array of this type.
    template <class T>
    bool array_comes() const {
        return place_ < count_ && packed_[place_].kind == 'A' && holds<T>(array(packed_[place_]));
    }
    template <class T>
    static bool holds(const ArrayInterface& array) {
        return array.kind == kind_of<std::remove_const_t<T>>() && array.item_size == sizeof(T);
    }
    bool is_next(char kind) const { return place_ < count_ && packed_[place_].kind == kind; }
    void done() const {
        if (place_ != count_) throw std::invalid_argument("too many arguments");
    }
    [[noreturn]] void refuse(const std::string& why) const {
        throw std::invalid_argument("argument " + std::to_string(place_) + " " + why);
    }

private:
    static const ArrayInterface& array(const Packed& argument) {
        void* capsule = reinterpret_cast<void*>(argument.value);
        return *static_cast<const ArrayInterface*>(interpreter.capsule_pointer(capsule, nullptr));
    }

    const Packed* packed_;
    Int count_, place_ = 0;
};

// How a value is made of the next arguments; structs of arrays have their own, which takes several.
template <class T>
struct From;

template <>
struct From<Int> {
    static Int take(Arguments& from) { return from.next('I').value; }
};
template <>
struct From<bool> {
    static bool take(Arguments& from) { return from.next('I').value != 0; }
};
template <>
struct From<double> {
    static double take(Arguments& from) {
        if (from.is_next('I')) return static_cast<double>(from.next('I').value);
        double number;
        std::memcpy(&number, &from.next('D').value, sizeof number);
        return number;
    }
};
template <class T>
struct From<T*> {
    static T* take(Arguments& from) { return reinterpret_cast<T*>(from.next('O').value); }
};
template <class T, int N>
struct From<View<T, N>> {
    static View<T, N> take(Arguments& from) {
        constexpr int USABLE =
            ArrayInterface::IN_C_ORDER | ArrayInterface::ALIGNED | ArrayInterface::BYTES_IN_ORDER;
        const ArrayInterface& array = from.next_array();
        if (!Arguments::holds<T>(array)) {
            from.refuse(std::string("is an array of ") + array.kind + std::to_string(array.item_size) + ", not " +
                        kind_of<std::remove_const_t<T>>() + std::to_string(sizeof(T)));
        }
        if (array.dimensions != N) from.refuse("has another number of dimensions than " + std::to_string(N));
        if (!array.has(USABLE)) from.refuse("is not a plain array in C order");
        if (!std::is_const_v<T> && !array.has(ArrayInterface::WRITEABLE)) from.refuse("may not be written to");
        View<T, N> view;
        view.data = static_cast<T*>(array.data);
        for (int d = 0; d < N; ++d) view.shape[d] = array.shape[d];
        return view;
    }
};

// ---------------------------------------------------------------------- results

// What a function returns: nothing, a number, several of them, or an array that Python copies and frees.
struct Result {
    Int count = 0;
    Int kind[8];
    Int value[8];
    Int length[8];

    void add(Int number) { put('I', number, 0); }
    void add(bool truth) { put('T', truth, 0); }
    void add(double number) {
        Int bits;
        std::memcpy(&bits, &number, sizeof bits);
        put('D', bits, 0);
    }
    template <class T>
    void add(const std::vector<T>& values) {
        T* copy = static_cast<T*>(::operator new(sizeof(T) * (values.size() + 1)));
        if (!values.empty()) std::memcpy(copy, values.data(), sizeof(T) * values.size());
        put(letter<T>(), reinterpret_cast<Int>(copy), static_cast<Int>(values.size()));
    }
    template <class T>
    void add(T* object) {
        put('O', reinterpret_cast<Int>(object), 0);
    }
    template <class... T>
    void add(const std::tuple<T...>& values) {
        std::apply([this](const auto&... each) { (this->add(each), ...); }, values);
    }

private:
    void put(Int of_kind, Int number, Int size) {
        kind[count] = of_kind;
        value[count] = number;
        length[count++] = size;
    }
};

inline thread_local std::string failure;

// Python was interrupted, or a callback of the user raised: the exception waits there.
struct Interrupted : std::exception {};

template <class R, class... T>
void call(R (*function)(T...), Arguments& from, Result& result) {
    // Braces: arguments are taken from left to right.
    std::tuple<std::decay_t<T>...> values{From<std::decay_t<T>>::take(from)...};
    from.done();
    WithoutLock other_threads_may_run;
    if constexpr (std::is_void_v<R>) {
        std::apply(function, values);
    } else {
        result.add(std::apply(function, values));
    }
}

// Called with the lock of Python. Returns 0; 1 for wrong arguments, 2 without memory, 3 where Python has an exception,
// 4 for anything else.
template <class F>
int guarded(F function, const Packed* packed, Int count, Result* result) noexcept {
    try {
        Arguments from(packed, count);
        call(function, from, *result);
        return 0;
    } catch (const std::invalid_argument& error) {
        failure = error.what();
        return 1;
    } catch (const std::bad_alloc&) {
        return 2;
    } catch (const Interrupted&) {
        return 3;
    } catch (const std::exception& error) {
        failure = error.what();
        return 4;
    }
}

}  // namespace saltmine

#if defined(_WIN32)
#define SALTMINE_VISIBLE extern "C" __declspec(dllexport)
#else
#define SALTMINE_VISIBLE extern "C" __attribute__((visibility("default")))
#endif

// Make a function of this file one that Python can call by its name.
#define SALTMINE_EXPORT(name)                                                                                   \
    SALTMINE_VISIBLE int saltmine_##name(const saltmine::Packed* packed, saltmine::Int count,                  \
                                         saltmine::Result* result) noexcept {                                  \
        return saltmine::guarded(name, packed, count, result);                                                 \
    }
