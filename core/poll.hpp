// Long loops look at Python now and then, as it may have been interrupted, and at the clock.
#pragma once

#include <chrono>

#include "views.hpp"

namespace saltmine {

// Throws where Python was interrupted; the module has it, so that nothing else knows of the interpreter.
void check_interrupts();

// Asks Python at most twenty times a second. For the thread that Python called only.
class Watch {
public:
    void look() {
        auto now = std::chrono::steady_clock::now();
        if (now < next_) return;
        next_ = now + std::chrono::milliseconds(50);
        check_interrupts();
    }

private:
    std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
};

// The moment when work has to end: by the clock, or, for tests, after so many looks.
class Deadline {
public:
    using Clock = std::chrono::steady_clock;

    // So many seconds from now, and looks; negative ones are no limit.
    void set(double seconds, Int looks) {
        constexpr double FOR_EVER = 1e9;
        end_ = seconds < 0 || seconds > FOR_EVER
                   ? Clock::time_point::max()
                   : Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
        looks_ = looks;
        over_ = false;
    }
    // For one thread; what is over stays over.
    bool is_over() {
        if (!over_) over_ = looks_ == 0 || is_past();
        if (looks_ > 0) --looks_;
        return over_;
    }
    bool was_over() const { return over_; }
    bool is_past() const { return end_ != Clock::time_point::max() && Clock::now() >= end_; }
    Int looks() const { return looks_; }

private:
    Clock::time_point end_ = Clock::time_point::max();
    Int looks_ = -1;
    bool over_ = false;
};

}  // namespace saltmine
