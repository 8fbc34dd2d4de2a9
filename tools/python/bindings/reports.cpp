// tools/python/bindings/reports.cpp - shows messages of the library to people who write Python.
#include "bindings/reports.h"

namespace unweave::python {
std::string text_of(const std::string& message) {
  // Python keeps bytes that are not UTF-8 as surrogates, which text_of() there shows by their bytes.
  const auto text = py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "surrogateescape"));
  if (!text) throw py::error_already_set();
  return py::module_::import("unweave.errors").attr("text_of")(text).cast<std::string>();
}

}  // namespace unweave::python
