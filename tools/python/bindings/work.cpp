// tools/python/bindings/work.cpp - runs work beside the interpreter, and tells its errors.
#include "bindings/work.h"

#include <pybind11/stl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

namespace unweave::python {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{100};

/// Counts what is done, for whoever looks.
class Meter final : public WorkMeter {
 public:
  struct State {
    std::string step, unit;
    std::uint64_t done = 0, total = 0;
  };

  void start(std::string_view step, std::uint64_t total, std::string_view unit) override {
    const std::scoped_lock lock(mutex_);
    step_ = step;
    unit_ = unit;
    total_ = total;
    done_ = 0;
  }
  [[nodiscard]] State state() {
    const std::scoped_lock lock(mutex_);
    return {step_, unit_, done_, total_};
  }
  void cancel() noexcept { cancelled_ = true; }

 protected:
  void add(std::uint64_t count) noexcept override { done_ += count; }
  bool cancelled() noexcept override { return cancelled_; }

 private:
  std::mutex mutex_;
  std::string step_, unit_;
  std::uint64_t total_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<bool> cancelled_ = false;
};

void tell(const py::object& progress, Meter& meter) {
  const Meter::State state = meter.state();
  if (!progress.is_none() && !state.step.empty()) progress(state.step, state.done, state.total, state.unit);
}

/// Raises the exception of this name with the library's message.
void raise(const char* name, const Error& error) {
  const py::module_ errors = py::module_::import("unweave.errors");
  const py::object type = errors.attr(name);
  py::list arguments;
  for (const std::string& key : error.options()) arguments.append(errors.attr("argument_of")(key));
  const py::object raised = type(text_of(error.message()), arguments);
  PyErr_SetObject(type.ptr(), raised.ptr());
}

}  // namespace

std::string text_of(const std::string& message) {
  // Python keeps bytes that are not UTF-8 as surrogates, which text_of() there shows by their
  // bytes.
  const auto text = py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "surrogateescape"));
  if (!text) throw py::error_already_set();
  return py::module_::import("unweave.errors").attr("text_of")(text).cast<std::string>();
}

Machine::Turn::Turn(Machine& machine) : machine_(machine) {
  if (machine.worker_ == std::this_thread::get_id())
    throw UsageError(
        "the store is in the midst of a call that this thread has made, which has called Python; call it when that has returned");
  machine.mutex_.lock();
  machine.worker_ = std::this_thread::get_id();
}

Machine::Turn::~Turn() {
  machine_.worker_ = std::thread::id();
  machine_.mutex_.unlock();
}

void run(Machine& machine, const py::object& progress, const std::function<void()>& work) {
  std::optional<Machine::Turn> turn;
  {
    const py::gil_scoped_release released;
    turn.emplace(machine);
  }
  /// Its meter is gone when this call is, also where it finds no thread.
  class Metered {
   public:
    Metered(Machine& machine, Meter& meter) : resources_(machine.resources()) { resources_.set_meter(&meter); }
    ~Metered() { resources_.set_meter(nullptr); }
    Metered(const Metered&) = delete;
    Metered& operator=(const Metered&) = delete;

   private:
    Resources& resources_;
  };
  Meter meter;
  std::optional<Metered> metered(std::in_place, machine, meter);
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::exception_ptr failure;
  std::thread worker;
  try {
    worker = std::thread([&] {
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      const std::scoped_lock lock(mutex);
      done = true;
      ended.notify_one();
    });
  } catch (const std::system_error& error) {
    throw ResourceError(std::string("the system has no thread for the work: ") + error.what());
  }
  std::optional<py::error_already_set> interruption;
  while (true) {
    {
      const py::gil_scoped_release released;
      std::unique_lock lock(mutex);
      if (ended.wait_for(lock, kBetweenLooks, [&] { return done; })) break;
    }
    if (interruption) continue;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      tell(progress, meter);
    } catch (py::error_already_set& error) {
      interruption.emplace(error);
      meter.cancel();
    }
  }
  {
    const py::gil_scoped_release released;
    worker.join();
  }
  metered.reset();
  turn.reset();
  if (interruption) throw py::error_already_set(*interruption);
  if (failure) std::rethrow_exception(failure);
  tell(progress, meter);
}

void run_whole(Machine& machine, const std::function<void()>& work) {
  const py::gil_scoped_release released;
  const Machine::Turn turn(machine);
  work();
}

void warn_of(const std::vector<std::string>& remarks) {
  constexpr int kCallerOfCaller = 2;
  for (const std::string& remark : remarks) {
    if (remark.empty()) continue;
    const py::module_ errors = py::module_::import("unweave.errors");
    const py::object text = errors.attr("text_of")(remark);
    py::module_::import("warnings").attr("warn")(text, errors.attr("RemarkWarning"), kCallerOfCaller);
  }
}

void translate_errors() {
  // pybind11 takes a function of this very type.
  py::register_exception_translator([](std::exception_ptr thrown) {  // NOLINT(performance-unnecessary-value-param)
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const UsageError& error) {
      raise("UsageError", error);
    } catch (const DataError& error) {
      raise("DataError", error);
    } catch (const ResourceError& error) {
      raise("ResourceError", error);
    } catch (const CheckError& error) {
      raise("CheckError", error);
    } catch (const Error& error) {
      raise("Error", error);
    }
  });
}

}  // namespace unweave::python
