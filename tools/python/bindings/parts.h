// tools/python/bindings/parts.h - the parts of the module unweave._native, one a file, and what
// their functions have in common.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "bindings/work.h"
#include "unweave/unweave.h"

namespace unweave::python {

using Path = std::filesystem::path;
using Ids = std::optional<std::vector<std::int64_t>>;

/// Ids as the library has them. Throws UsageError for those that no node can have.
[[nodiscard]] std::optional<std::vector<NodeId>> node_ids(const Ids& ids, std::uint64_t nodes);

/// How long a call takes, from its construction on.
class Stopwatch {
 public:
  [[nodiscard]] py::dict added_to(py::dict report) const {
    report["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    return report;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

template <class T>
std::span<char> bytes_of(py::array_t<T>& array) {
  return {reinterpret_cast<char*>(array.mutable_data()), static_cast<std::size_t>(array.nbytes())};
}

// Each adds the functions of its file to the module.
void define_stores(py::module_& module);
void define_contents(py::module_& module);
void define_models(py::module_& module);
void define_plans(py::module_& module);

}  // namespace unweave::python
