// storage/npy/npy_header.cpp - writes the header of a .npy array for a type and a shape.
#include "storage/npy/npy_header.h"

namespace unweave {

std::string npy_shape_text(std::span<const std::uint64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::string npy_header(std::string_view descr, std::span<const std::uint64_t> shape, bool fortran_order) {
  std::string text = "{'descr': '" + std::string(descr) + "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                     ", 'shape': " + npy_shape_text(shape) + ", }";
  constexpr std::size_t kPreamble = 10;
  constexpr std::size_t kAlign = 64;
  const std::size_t total = (kPreamble + text.size() + 1 + kAlign - 1) / kAlign * kAlign;
  text.resize(total - kPreamble - 1, ' ');
  text += '\n';
  std::string bytes(kNpyMagic);
  bytes += {'\x01', '\x00', static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return bytes + text;
}

}  // namespace unweave
