// All loops for one processor, the one that this file is compiled for: SALTMINE_CPU is its name.
#include "kernels.hpp"

#include "counts.hpp"
#include "logs.hpp"
#include "narrow.hpp"
#include "sparse.hpp"
#include "steps.hpp"
#include "weigh.hpp"

#define SALTMINE_JOINED(one, other) one##other
#define SALTMINE_JOIN(one, other) SALTMINE_JOINED(one, other)
#define SALTMINE_QUOTED(name) #name
#define SALTMINE_QUOTE(name) SALTMINE_QUOTED(name)

namespace saltmine {

extern const Kernels SALTMINE_JOIN(kernels_, SALTMINE_CPU);

const Kernels SALTMINE_JOIN(kernels_, SALTMINE_CPU) = {
    SALTMINE_QUOTE(SALTMINE_CPU),
    SALTMINE_CPU::choose_rows,
    SALTMINE_CPU::weigh_rows,
    SALTMINE_CPU::weigh_first,
    SALTMINE_CPU::add_to_rows,
    SALTMINE_CPU::count_open,
    SALTMINE_CPU::count_parts,
    SALTMINE_CPU::count_common,
    SALTMINE_CPU::add_counts,
    SALTMINE_CPU::paying_words,
    SALTMINE_CPU::largest_sum,
    SALTMINE_CPU::add_rows<float>,
    SALTMINE_CPU::add_rows<double>,
    SALTMINE_CPU::log_mixtures,
    SALTMINE_CPU::sum_mixtures,
    SALTMINE_CPU::explain,
    SALTMINE_CPU::find_above,
    SALTMINE_CPU::add_to_each,
    SALTMINE_CPU::add_narrow_products,
    SALTMINE_CPU::multiply_narrow,
    SALTMINE_CPU::rotate,
    SALTMINE_CPU::add_expected,
    SALTMINE_CPU::score_counts,
    SALTMINE_CPU::step_items,
    SALTMINE_CPU::step_rows,
};

}  // namespace saltmine
