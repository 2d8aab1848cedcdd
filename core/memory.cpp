// Memory that was freed goes back to the system.
#include "bindings.hpp"
#include "views.hpp"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace saltmine {
namespace {

// The allocator of glibc keeps pieces of up to 32 MB for later, which may be most of what a search took.
void give_back_memory() {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

// Keep memory that is freed for the next arrays, or give large pieces back at once. The system clears every page that it
// gives, which takes a tenth of the time of a fit that makes and drops arrays of many megabytes.
void keep_freed_memory(bool keep) {
#if defined(__GLIBC__)
    // If not, as glibc has it in a process that has freed a large array.
    constexpr int MB = 1 << 20, LARGE = 32 * MB;
    // An older glibc takes no more than 32 MB.
    if (mallopt(M_MMAP_THRESHOLD, keep ? 256 * MB : LARGE) == 0) mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, keep ? 1024 * MB : 2 * LARGE);
#else
    static_cast<void>(keep);
#endif
}

}  // namespace
}  // namespace saltmine

SALTMINE_BIND(memory, saltmine, give_back_memory, keep_freed_memory)
