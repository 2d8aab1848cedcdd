// How values go between Python and C++: arrays as views of their memory, tuples as structs, vectors as new arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include "views.hpp"

namespace nb = nanobind;

namespace nanobind::detail {

// An array of this type and number of dimensions in C order; never converted, since what is written would be lost.
template <class T, int N>
struct type_caster<saltmine::View<T, N>> {
    using Given = ndarray<T, ndim<N>, c_contig, device::cpu>;
    using Taken = saltmine::View<T, N>;
    // Types in stubs say what mypy can check, which is not the number of dimensions.
    NB_TYPE_CASTER(Taken, (make_caster<ndarray<numpy, std::remove_const_t<T>>>::Name))

    bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
        make_caster<Given> given;
        if (!given.from_python(source, flags & ~std::uint32_t{cast_flags::convert}, cleanup)) return false;
        value.data = given.value.data();
        for (int d = 0; d < N; ++d) value.shape[d] = static_cast<saltmine::Int>(given.value.shape(d));
        if (reinterpret_cast<std::uintptr_t>(value.data) % alignof(T) == 0 || value.size() == 0) return true;
        // Arrays that came over a network may begin anywhere. They are read from a copy, which stays until the call ends.
        PyObject* copy = std::is_const_v<T> ? PyObject_CallMethod(source.ptr(), "copy", nullptr) : nullptr;
        if (copy == nullptr) return PyErr_Clear(), false;
        cleanup->append(copy);
        return from_python(copy, flags, cleanup);
    }
};

// The fields of a struct: as many as values that it can be made of.
struct anything {
    template <class T>
    operator T() const;
};
template <class Struct, class Enable, class... Values>
struct is_made_of : std::false_type {};
template <class Struct, class... Values>
struct is_made_of<Struct, std::void_t<decltype(Struct{std::declval<Values>()...})>, Values...> : std::true_type {};

template <class Struct, class... Values>
constexpr int count_fields() {
    if constexpr (is_made_of<Struct, void, Values..., anything>::value) {
        return count_fields<Struct, Values..., anything>();
    }
    return sizeof...(Values);
}
template <int N, class Struct>
auto fields_of(Struct& from) {
    if constexpr (N == 2) { auto& [a, b] = from; return std::tie(a, b); }
    if constexpr (N == 3) { auto& [a, b, c] = from; return std::tie(a, b, c); }
    if constexpr (N == 4) { auto& [a, b, c, d] = from; return std::tie(a, b, c, d); }
    if constexpr (N == 5) { auto& [a, b, c, d, e] = from; return std::tie(a, b, c, d, e); }
    if constexpr (N == 6) { auto& [a, b, c, d, e, f] = from; return std::tie(a, b, c, d, e, f); }
    if constexpr (N == 7) { auto& [a, b, c, d, e, f, g] = from; return std::tie(a, b, c, d, e, f, g); }
    if constexpr (N == 9) { auto& [a, b, c, d, e, f, g, h, i] = from; return std::tie(a, b, c, d, e, f, g, h, i); }
}

// A tuple whose values become the fields of a struct, in their order.
template <class Struct, class... Fields>
struct fields_caster {
    NB_TYPE_CASTER(Struct, const_name("tuple[") + concat(make_caster<Fields>::Name...) + const_name("]"))

    bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
        if (!PyTuple_Check(source.ptr()) || PyTuple_Size(source.ptr()) != sizeof...(Fields)) return false;
        Py_ssize_t k = 0;
        auto take = [&](auto& field) {
            using Field = std::decay_t<decltype(field)>;
            make_caster<Field> caster;
            if (!caster.from_python(PyTuple_GetItem(source.ptr(), k++), flags, cleanup)) return false;
            field = caster.operator cast_t<Field>();
            return true;
        };
        return std::apply([&](auto&... each) { return (take(each) && ...); }, fields_of<sizeof...(Fields)>(value));
    }
};
template <class Struct, class... Fields>
fields_caster<Struct, Fields...> caster_of(std::tuple<Fields&...>);

template <class>
constexpr bool is_something_else = false;
template <class T, int N>
constexpr bool is_something_else<saltmine::View<T, N>> = true;
template <class T>
constexpr bool is_something_else<pointer_and_handle<T>> = true;

template <class T>
constexpr bool is_struct = std::is_class_v<T> && std::is_aggregate_v<T> && !is_something_else<T>;

template <class Struct>
struct type_caster<Struct, enable_if_t<is_struct<Struct>>>
    : decltype(caster_of<Struct>(fields_of<count_fields<Struct>()>(std::declval<Struct&>()))) {};

// A vector from a copy of an array, and a new array that owns the numbers of a vector.
template <class T>
struct type_caster<std::vector<T>> {
    using Made = ndarray<numpy, T>;
    NB_TYPE_CASTER(std::vector<T>, make_caster<Made>::Name)

    bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
        make_caster<saltmine::Array<const T>> given;
        if (!given.from_python(source, flags, cleanup)) return false;
        try {
            return value.assign(given.value.begin(), given.value.end()), true;
        } catch (const std::bad_alloc&) { return false; }
    }
    static handle from_cpp(std::vector<T>&& values, rv_policy, cleanup_list* cleanup) {
        auto* owner = new std::vector<T>(std::move(values));
        capsule frees(owner, [](void* kept) noexcept { delete static_cast<std::vector<T>*>(kept); });
        return make_caster<Made>::from_cpp(Made(owner->data(), {owner->size()}, frees), rv_policy::reference, cleanup);
    }
};

}  // namespace nanobind::detail

namespace saltmine {

using WithoutLock = nb::call_guard<nb::gil_scoped_release>;

// Add functions that run without the lock of the interpreter; the names are theirs, "one, other".
template <class... Functions>
void def_all(nb::module_& core, const char* names, Functions... functions) {
    auto next = [&] {
        const std::size_t size = std::strcspn(names, "<, "), step = std::strcspn(names, ",");
        std::string name(names, size);
        names += names[step] == ',' ? step + 2 : step;
        return name;
    };
    (core.def(next().c_str(), functions, WithoutLock()), ...);
}

}  // namespace saltmine

// Make functions of a file in some namespace those of the module; the file is one of the list in module.cpp.
#define SALTMINE_BIND(file, space, ...)                  \
    void bind_##file(nb::module_& core) {                \
        using namespace space;                           \
        saltmine::def_all(core, #__VA_ARGS__, __VA_ARGS__); \
    }
