// tools/python/bindings/stream.h - requests as they come from Python, and the streams that take
// them.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "unweave/unweave.h"

namespace unweave::python {

/// Requests as lines of a file of requests. Throws UsageError that tells the number of one that is
/// none.
[[nodiscard]] std::vector<Request> requests_of(const std::vector<std::string>& lines, const RequestWords& words);

/// Adds the class Stream to the module.
void define_stream(pybind11::module_& module);

}  // namespace unweave::python
