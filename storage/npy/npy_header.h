// storage/npy/npy_header.h - the header of a .npy file as it is written.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace unweave {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

/// A shape as NumPy writes it: "(3, 2)".
[[nodiscard]] std::string npy_shape_text(std::span<const std::uint64_t> shape);
/// Header of a .npy file (format 1.0) whose data then starts at a multiple of 64 bytes. `descr` is
/// NumPy's name of the type ("<f4", "<i8").
[[nodiscard]] std::string npy_header(std::string_view descr, std::span<const std::uint64_t> shape,
                                     bool fortran_order = false);

}  // namespace unweave
