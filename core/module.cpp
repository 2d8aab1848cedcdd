// The extension module saltmine._core: every file adds its own functions.
#include <cstdlib>

#include "bindings.hpp"
#include "kernels/kernels.hpp"
#include "poll.hpp"

// One for each file with functions for Python.
#define SALTMINE_FILES(with)                                                                                        \
    with(added_items) with(asso) with(bit_sets) with(class_tests) with(contrasts) with(diffnorm) with(encoding)      \
    with(folding) with(groups) with(item_blocks) with(likelihood) with(mdl) with(memory) with(row_blocks) with(scores) with(search_api) \
    with(seeds) with(set_hits) with(sparse_kernels) with(step_kernels) with(swap)

#define SALTMINE_DECLARE(file) void bind_##file(nb::module_& core);
#define SALTMINE_CALL(file) bind_##file(core);
SALTMINE_FILES(SALTMINE_DECLARE)

namespace saltmine {

void check_interrupts() {
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace saltmine

NB_MODULE(_core, core) {
    using saltmine::choose_kernels, saltmine::kernels;
    core.doc() = "The compiled core of saltmine.";
    if (const char* problem = choose_kernels(std::getenv("SALTMINE_CPU"))) throw nb::import_error(problem);
    // For tests: which loops are used, and others that this processor can run.
    core.def("cpu", [] { return kernels->name; });
    core.def("use_cpu", [](const char* name) {
        if (const char* problem = choose_kernels(name)) throw std::invalid_argument(problem);
    });
    SALTMINE_FILES(SALTMINE_CALL)
}
