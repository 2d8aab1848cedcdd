// Memory that was freed goes back to the system.
#include "bind.hpp"

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

}  // namespace
}  // namespace saltmine

using namespace saltmine;
SALTMINE_EXPORT(give_back_memory)
