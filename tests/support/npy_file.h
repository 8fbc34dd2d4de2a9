// tests/support/npy_file.h - arrays that the program has written.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "support/input_files.h"

namespace unweave::testing {

/// A .npy file taken apart without any code of the project.
template <class T>
struct Npy {
  explicit Npy(const std::filesystem::path& path) : Npy(read_all(path), 0) {}
  Npy(const std::string& bytes, int) {
    REQUIRE(bytes.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
    const std::size_t length = static_cast<unsigned char>(bytes[8]) + 256U * static_cast<unsigned char>(bytes[9]);
    header = bytes.substr(10, length);
    REQUIRE((10 + length) % 64 == 0);
    REQUIRE(header.back() == '\n');
    values.resize((bytes.size() - 10 - length) / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data() + 10 + length, values.size() * sizeof(T));
  }
  static Npy of_bytes(const std::string& bytes) { return {bytes, 0}; }

  std::string header;
  std::vector<T> values;
};

}  // namespace unweave::testing
