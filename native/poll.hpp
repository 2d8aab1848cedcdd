// Long loops look at Python now and then: it may have been interrupted.
#pragma once

#include <chrono>

#include "bind.hpp"

namespace saltmine {

// Asks Python at most twenty times a second. For the thread that Python called only.
class Watch {
public:
    void look() {
        auto now = std::chrono::steady_clock::now();
        if (now < next_) return;
        next_ = now + std::chrono::milliseconds(50);
        WithLock lock;
        if (interpreter.check_signals() != 0) throw Interrupted();
    }

private:
    std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
};

}  // namespace saltmine
