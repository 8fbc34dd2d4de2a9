// engine/parallel.h - the few parallel verbs of the project. Nothing above this layer includes TBB.
//
// Results must not depend on the number of threads: bodies write disjoint data, and sums of floating-point numbers go
// through ordered_sum, whose blocks and order of addition are fixed by the caller's block size alone.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace unweave {

/// Limits the whole process to `threads` worker threads for the lifetime of this object; 0 means one per core.
class ThreadLimit {
 public:
  explicit ThreadLimit(std::size_t threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Number of threads that parallel verbs may use at this moment.
[[nodiscard]] std::size_t active_threads();

/// Calls body(first, last) on disjoint pieces of [begin, end) of at most `grain` items, on any thread in any order.
template <class Body>
void parallel_ranges(std::size_t begin, std::size_t end, std::size_t grain, const Body& body) {
  if (end <= begin) return;
  if (end - begin <= grain) {
    body(begin, end);
    return;
  }
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(begin, end, std::max<std::size_t>(1, grain)),
      [&](const tbb::blocked_range<std::size_t>& piece) { body(piece.begin(), piece.end()); },
      tbb::simple_partitioner());
}

/// Sorts a random-access range in parallel.
template <class Iterator, class Less>
void parallel_sort(Iterator first, Iterator last, const Less& less) {
  tbb::parallel_sort(first, last, less);
}

/// Sum of part(first, last) over consecutive blocks of `block` items of [0, items), added in block order: the result is
/// the same for any number of threads. T needs +=.
template <class T, class Part>
[[nodiscard]] T ordered_sum(std::size_t items, std::size_t block, T zero, const Part& part) {
  const std::size_t blocks = (items + block - 1) / block;
  std::vector<T> parts(blocks, zero);
  parallel_ranges(0, blocks, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) parts[i] = part(i * block, std::min(items, (i + 1) * block));
  });
  for (T& one : parts) zero += one;
  return zero;
}

}  // namespace unweave
