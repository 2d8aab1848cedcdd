// Threads that wait for work, and do it side by side with the one that asks.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "views.hpp"

namespace saltmine {

class Team {
public:
    // Where the system gives fewer threads than asked for, those do the work.
    explicit Team(Int size) {
        threads_.reserve(static_cast<std::size_t>(size));
        for (Int k = 1; k < size; ++k) {
            try {
                threads_.emplace_back([this, k] { serve(k); });
            } catch (const std::system_error&) {
                break;
            }
        }
    }
    ~Team() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            ending_ = true;
        }
        begin_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    Int size() const { return static_cast<Int>(threads_.size()) + 1; }

    // Call job(0), ..., job(size - 1) side by side, the first by the one that asks; the first exception is thrown again.
    void run(const std::function<void(Int)>& job) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            job_ = &job;
            running_ = static_cast<Int>(threads_.size());
            failed_ = nullptr;
            ++round_;
        }
        begin_.notify_all();
        guarded(0);
        std::unique_lock<std::mutex> lock(mutex_);
        end_.wait(lock, [this] { return running_ == 0; });
        if (failed_) std::rethrow_exception(failed_);
    }

private:
    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable begin_, end_;
    const std::function<void(Int)>* job_ = nullptr;
    Int running_ = 0, round_ = 0;
    bool ending_ = false;
    std::exception_ptr failed_;

    void guarded(Int k) {
        try {
            (*job_)(k);
        } catch (...) {
            std::lock_guard<std::mutex> lock(mutex_);
            if (!failed_) failed_ = std::current_exception();
        }
    }
    void serve(Int k) {
        Int seen = 0;
        while (true) {
            {
                std::unique_lock<std::mutex> lock(mutex_);
                begin_.wait(lock, [&] { return ending_ || round_ != seen; });
                if (ending_) return;
                seen = round_;
            }
            guarded(k);
            std::lock_guard<std::mutex> lock(mutex_);
            if (--running_ == 0) end_.notify_one();
        }
    }
};

// Call job(k) for every k below count, side by side; whoever is done takes the next.
template <class Job>
void share_out(Team& team, std::size_t count, Job job) {
    std::atomic<std::size_t> next{0};
    team.run([&](Int) {
        for (std::size_t k = next++; k < count; k = next++) job(k);
    });
}

}  // namespace saltmine
