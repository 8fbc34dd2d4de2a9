// tools/python/bindings/options.h - options out of dictionaries.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "unweave/unweave.h"

namespace unweave::python {

namespace py = pybind11;

/// What a message says of a value that is none of T: "a whole number, 0 or more".
template <class T>
[[nodiscard]] std::string wanted() {
  if constexpr (std::is_same_v<T, bool>)
    return "True or False";
  else if constexpr (std::is_unsigned_v<T>)
    return "a whole number from 0 to " + std::to_string(std::numeric_limits<T>::max());
  else if constexpr (std::is_integral_v<T>)
    return "a whole number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
           std::to_string(std::numeric_limits<T>::max());
  else if constexpr (std::is_floating_point_v<T>)
    return "a number";
  else if constexpr (std::is_same_v<T, std::string>)
    return "a text";
  else if constexpr (std::is_same_v<T, std::filesystem::path>)
    return "a path";
  else if constexpr (std::is_same_v<T, std::vector<double>>)
    return "a list of numbers";
  else if constexpr (std::is_same_v<T, std::vector<std::size_t>>)
    return "a list of whole numbers, 0 or more";
  else if constexpr (std::is_same_v<T, std::vector<std::string>>)
    return "a list of texts";
  else if constexpr (std::is_same_v<T, std::map<std::string, double>>)
    return "a dictionary of numbers by name";
  else
    return "a pair of whole numbers, 0 or more";
}

template <class T>
[[noreturn]] void throw_other_type(std::string key, const py::object& value) {
  std::replace(key.begin(), key.end(), '_', '-');
  throw UsageError(option(key) + ": " + py::repr(value).template cast<std::string>() + " is not " + wanted<T>());
}

/// Whether it is True or False, of Python or of NumPy.
[[nodiscard]] inline bool is_flag(const py::object& value) {
  const auto kind = py::type::of(value).attr("__name__").cast<std::string>();
  return py::isinstance<py::bool_>(value) || kind == "bool_" || kind == "bool";
}

/// The value of a key; none where it is missing or None. Throws UsageError for another type.
template <class T>
[[nodiscard]] std::optional<T> taken(const py::dict& options, const char* key) {
  if (!options.contains(key) || options[key].is_none()) return std::nullopt;
  const py::object value = options[key];
  // Python takes True for the number 1, and any number for True or False.
  if (std::is_arithmetic_v<T> && is_flag(value) != std::is_same_v<T, bool>) throw_other_type<T>(key, value);
  try {
    return value.template cast<T>();
  } catch (const py::cast_error&) {
    throw_other_type<T>(key, value);
  }
}
template <class T>
[[nodiscard]] T taken_or(const py::dict& options, const char* key, T otherwise) {
  return taken<T>(options, key).value_or(std::move(otherwise));
}

/// An input: a path, or the dictionary that unweave/arrays.py (input_of) makes of an array, which
/// keeps them alive.
[[nodiscard]] InputFile input_file(const py::object& source);
[[nodiscard]] ImportOptions import_options(const py::dict& options);
[[nodiscard]] GenerateOptions generate_options(const py::dict& options);
[[nodiscard]] PropagationSpec propagation_spec(const py::dict& options, bool labelled_rows);
/// The jobs that are asked for; none where all is to be propagated.
[[nodiscard]] std::optional<TileChoice> tile_choice(const py::dict& options);
[[nodiscard]] PropagateHow propagate_how(const py::dict& options);
[[nodiscard]] TrainOptions train_options(const py::dict& options);
[[nodiscard]] AttackOptions attack_options(const py::dict& options);
[[nodiscard]] ModelSelection model_selection(const py::dict& options);

}  // namespace unweave::python
