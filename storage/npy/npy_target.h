// storage/npy/npy_target.h - where an array goes.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <utility>

namespace unweave {

/// Where an array goes: to a file, or to a stream that takes it as it comes and outlives its
/// writer.
struct NpyTarget {
  NpyTarget(std::filesystem::path path) : file(std::move(path)) {}  // NOLINT: every path is one
  explicit NpyTarget(std::ostream& out) : stream(&out) {}

  std::filesystem::path file;
  std::ostream* stream = nullptr;
};

}  // namespace unweave
