// storage/io/readable_bytes.cpp - writes sizes for people, in the largest unit that leaves at least
// 1.
#include "storage/io/readable_bytes.h"

#include <array>
#include <cstdio>

namespace unweave {

std::string readable_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  auto size = static_cast<double>(bytes);
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", unit == 0 ? 0 : 1, size, kUnits[unit]);
  return text.data();
}

}  // namespace unweave
