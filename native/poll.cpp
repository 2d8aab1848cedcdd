// Signals of Python, looked at from C++.
//
// A function of Python cannot do it: Python handles signals as soon as the function is entered, before a `try` of its
// own, and what the handler raises is printed and lost. So the interpreter's own functions are called here; Python
// gives their addresses.
#include "poll.hpp"

namespace saltmine {
namespace {

struct Interpreter {
    int (*take_lock)();  // PyGILState_Ensure
    void (*give_lock)(int);  // PyGILState_Release
    int (*check_signals)();  // PyErr_CheckSignals
    void (*fetch)(void**, void**, void**);  // PyErr_Fetch
    void (*restore)(void*, void*, void*);  // PyErr_Restore
};

Interpreter interpreter;

// The exception that a look found: its type, its value and its traceback.
thread_local void* raised[3];

int check_signals() {
    const int lock = interpreter.take_lock();
    const int failed = interpreter.check_signals();
    if (failed) interpreter.fetch(&raised[0], &raised[1], &raised[2]);
    interpreter.give_lock(lock);
    return failed;
}

}  // namespace

Poll poll_python = nullptr;

}  // namespace saltmine

SALTMINE_VISIBLE void saltmine_set_interpreter(int (*take_lock)(), void (*give_lock)(int), int (*check_signals)(),
                                               void (*fetch)(void**, void**, void**),
                                               void (*restore)(void*, void*, void*)) noexcept {
    saltmine::interpreter = {take_lock, give_lock, check_signals, fetch, restore};
    saltmine::poll_python = saltmine::check_signals;
}

// Raise the exception again that a look found. Python calls this with its lock.
SALTMINE_VISIBLE void saltmine_raise() noexcept {
    saltmine::interpreter.restore(saltmine::raised[0], saltmine::raised[1], saltmine::raised[2]);
}
