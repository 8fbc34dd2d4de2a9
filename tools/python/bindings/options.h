// tools/python/bindings/options.h - options out of dictionaries.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "unweave/unweave.h"

namespace unweave::python {

namespace py = pybind11;

/// The value of a key; none where it is missing or None. Throws UsageError for another type.
template <class T>
[[nodiscard]] std::optional<T> taken(const py::dict& options, const char* key) {
  if (!options.contains(key) || options[key].is_none()) return std::nullopt;
  try {
    return options[key].template cast<T>();
  } catch (const py::cast_error&) {
    std::string name(key);
    std::replace(name.begin(), name.end(), '_', '-');
    throw UsageError(option(name) + ": " + py::repr(options[key]).template cast<std::string>() +
                     " is not of the type that is wanted");
  }
}
template <class T>
[[nodiscard]] T taken_or(const py::dict& options, const char* key, T otherwise) {
  return taken<T>(options, key).value_or(std::move(otherwise));
}

/// An input: a path, or the dictionary that unweave/arrays.py makes of arrays, which keeps them alive.
[[nodiscard]] InputFile input_file(const py::object& source);
[[nodiscard]] ImportOptions import_options(const py::dict& options);
[[nodiscard]] GenerateOptions generate_options(const py::dict& options);
[[nodiscard]] PropagationSpec propagation_spec(const py::dict& options, bool has_labels);
/// The jobs that are asked for; none where all is to be propagated.
[[nodiscard]] std::optional<TileChoice> tile_choice(const py::dict& options);
[[nodiscard]] PropagateHow propagate_how(const py::dict& options);
[[nodiscard]] TrainOptions train_options(const py::dict& options);
[[nodiscard]] AttackOptions attack_options(const py::dict& options);
[[nodiscard]] ModelSelection model_selection(const py::dict& options);

}  // namespace unweave::python
