// The functions of the interpreter that the library calls. Python gives their addresses, so that no header of Python is
// needed.
#pragma once

namespace saltmine {

struct Interpreter {
    void* (*capsule_pointer)(void*, const char*);  // PyCapsule_GetPointer
    void* (*leave)();                              // PyEval_SaveThread
    void (*enter)(void*);                          // PyEval_RestoreThread
    int (*ensure)();                               // PyGILState_Ensure
    void (*release)(int);                          // PyGILState_Release
    int (*check_signals)();                        // PyErr_CheckSignals
};

extern Interpreter interpreter;

// Other threads of Python may run while there is one of these.
class WithoutLock {
public:
    WithoutLock() : thread_(interpreter.leave()) {}
    ~WithoutLock() { interpreter.enter(thread_); }
    WithoutLock(const WithoutLock&) = delete;
    WithoutLock& operator=(const WithoutLock&) = delete;

private:
    void* thread_;
};

// Python may be called while there is one of these.
class WithLock {
public:
    WithLock() : before_(interpreter.ensure()) {}
    ~WithLock() { interpreter.release(before_); }
    WithLock(const WithLock&) = delete;
    WithLock& operator=(const WithLock&) = delete;

private:
    int before_;
};

}  // namespace saltmine
