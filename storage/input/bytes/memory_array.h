// storage/input/bytes/memory_array.h - an array in the caller's memory as a stream of the bytes
// that a .npy file of it would have.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/input/bytes/raw_bytes.h"

namespace unweave {

/// What memory_input() makes.
struct MemoryArray {
  std::string header;                         ///< what the .npy file would begin with
  std::vector<std::span<const char>> pieces;  ///< the elements
};

[[nodiscard]] std::unique_ptr<RawBytes> open_memory_bytes(std::shared_ptr<const MemoryArray> array);

}  // namespace unweave
