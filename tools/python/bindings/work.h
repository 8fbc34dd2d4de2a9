// tools/python/bindings/work.h - long work off Python's lock: progress is told, Ctrl-C cancels it.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "unweave/unweave.h"

namespace unweave::python {

namespace py = pybind11;

/// The memory and the threads of one store that Python has open.
class Machine {
 public:
  /// As ResourceLimits has them: 0 stands for most of the memory, and for a thread a core.
  Machine(std::uint64_t memory_bytes, std::size_t threads) : resources_({memory_bytes, threads}) {}

  [[nodiscard]] Resources& resources() noexcept { return resources_; }

 private:
  friend void run(Machine& machine, const py::object& progress, const std::function<void()>& work);
  friend void run_whole(Machine& machine, const std::function<void()>& work);
  /// The right to work. Throws UsageError where this thread has it: Python runs progress functions,
  /// signal handlers and finalizers in the midst of work.
  class Turn {
   public:
    explicit Turn(Machine& machine);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Machine& machine_;
  };

  Resources resources_;
  std::mutex mutex_;                       ///< held by the one thread that works
  std::atomic<std::thread::id> worker_{};  ///< which it is
};

/// Runs `work` on a thread of its own, without Python's lock. `progress` is None, or is called
/// about ten times a second, with the lock, as progress(step, done, total, unit); total is 0 where
/// it is not known. An exception that it throws, or that a signal raises, cancels the work, and is
/// thrown when the work has ended. Work of one machine waits for its turn.
void run(Machine& machine, const py::object& progress, const std::function<void()>& work);

/// Runs work that cannot be cancelled and is short, on the calling thread, without Python's lock.
void run_whole(Machine& machine, const std::function<void()>& work);

/// The text of a message, as errors have it. With Python's lock.
[[nodiscard]] std::string text_of(const std::string& message);

/// Warns, as unweave.RemarkWarning, of each text with marks that is not empty. With Python's lock.
void warn_of(const std::vector<std::string>& remarks);

/// Makes the library's exceptions those of the module unweave.errors.
void translate_errors();

}  // namespace unweave::python
