// Long loops look at Python now and then: it may have been interrupted.
#pragma once

#include <chrono>

#include "bind.hpp"

namespace saltmine {

// Returns whether Python has an exception to raise. Python handles signals in its main thread: others have none.
bool is_interrupted();

// Asks Python at most twenty times a second. For the thread that Python called only.
class Watch {
public:
    void look() {
        auto now = std::chrono::steady_clock::now();
        if (now < next_) return;
        next_ = now + std::chrono::milliseconds(50);
        if (is_interrupted()) throw Interrupted();
    }

private:
    std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
};

}  // namespace saltmine
