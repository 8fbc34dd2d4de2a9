// engine/graph/open_files.h - opens the many files of a store on all threads.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "engine/resources/parallel.h"

namespace unweave {

/// What `open` gives for 0, 1, .. count - 1, in this order. Most of it is the work of the system:
/// to find a file by its name, and to map it. Throws what one of the calls throws.
template <class T, class Open>
[[nodiscard]] std::vector<T> open_files(std::size_t count, const Open& open) {
  constexpr std::size_t kTask = 8;
  std::vector<std::optional<T>> opened(count);
  parallel_ranges(0, count, kTask, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) opened[i].emplace(open(i));
  });
  std::vector<T> files;
  files.reserve(count);
  for (std::optional<T>& one : opened) files.push_back(std::move(*one));
  return files;
}

}  // namespace unweave
