# CMake builds with the compiler of the package ziglang, where the system has none and no archiver either.
execute_process(COMMAND $ENV{SALTMINE_PYTHON} -c "import ziglang, os; print(os.path.dirname(ziglang.__file__), end='')"
                OUTPUT_VARIABLE ZIG_FOLDER)
set(CMAKE_CXX_COMPILER ${ZIG_FOLDER}/zig c++)
set(CMAKE_CXX_ARCHIVE_CREATE "${ZIG_FOLDER}/zig ar qc <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "${ZIG_FOLDER}/zig ranlib <TARGET>")
