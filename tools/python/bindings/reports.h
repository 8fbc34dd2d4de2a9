// tools/python/bindings/reports.h - reports into dictionaries.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bindings/work.h"
#include "unweave/fields/audit.h"
#include "unweave/fields/evaluate.h"
#include "unweave/fields/maintenance.h"
#include "unweave/fields/models.h"
#include "unweave/fields/plan.h"
#include "unweave/fields/requests.h"
#include "unweave/fields/store.h"
#include "unweave/fields/stream.h"
#include "unweave/unweave.h"

namespace unweave::python {

namespace py = pybind11;

/// What object_by() makes dictionaries with.
struct DictMaker {
  using Value = py::object;
  using Object = py::dict;

  [[nodiscard]] Object object() const { return {}; }
  void add(Object& object, std::string_view name, const Value& value) const {
    object[py::str(std::string(name))] = value;
  }
  [[nodiscard]] Value null() const { return py::none(); }
  template <class Plain>
  [[nodiscard]] Value plain(const Plain& value) const {
    if constexpr (std::is_convertible_v<const Plain&, std::string_view>)
      return py::str(std::string(std::string_view(value)));
    else
      return py::cast(value);
  }
  [[nodiscard]] Value message(std::string_view text) const { return py::str(text_of(std::string(text))); }
  [[nodiscard]] Value pair(const Value& first, const Value& second) const { return py::make_tuple(first, second); }
  [[nodiscard]] Value list(const std::vector<Value>& values) const { return py::cast(values); }
};

/// The fields of a report, and of what describe() takes beside it, under the names that `--json`
/// has for them.
template <class... Report>
[[nodiscard]] py::dict dict_of(const Report&... report) {
  return object_by(DictMaker(), report...);
}
/// A field's value.
template <class Field>
[[nodiscard]] py::object object_of(const Field& value) {
  return value_by(DictMaker(), value);
}
template <class... Report>
[[nodiscard]] py::dict with_fields(py::dict object, const Report&... report) {
  add_fields_by(DictMaker(), object, report...);
  return object;
}

}  // namespace unweave::python
