// storage/npy/named_arrays.h - small arrays with names in one file, in two forms that programs of
// others load: NumPy's .npz and .safetensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace unweave {

/// One array in C order, little endian.
struct NamedArray {
  std::string name;
  bool integers = false;  ///< int64, else float64
  std::vector<std::uint64_t> shape;
  std::string bytes;  ///< eight an element
};

[[nodiscard]] NamedArray named_array(std::string name, std::vector<std::uint64_t> shape,
                                     std::span<const double> values);
[[nodiscard]] NamedArray named_array(std::string name, std::vector<std::uint64_t> shape,
                                     std::span<const std::int64_t> values);

/// Writes an archive that numpy.load opens without pickle: each array is a member NAME.npy, not
/// compressed. Equal arrays give equal files. The file appears whole or not at all, durable on
/// return. Throws DataError, ResourceError.
void write_npz(const std::filesystem::path& file, std::span<const NamedArray> arrays);

/// Writes what safetensors.torch.load_file loads, as write_npz() does: the length of a header in 8
/// bytes, the header in JSON, and the arrays one after the other
/// (https://github.com/huggingface/safetensors).
void write_safetensors(const std::filesystem::path& file, std::span<const NamedArray> arrays);

}  // namespace unweave
