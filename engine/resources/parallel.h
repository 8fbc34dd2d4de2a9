// engine/resources/parallel.h - the few parallel verbs of the project. Nothing above this layer
// includes TBB.
//
// Results must not depend on the number of threads: bodies write disjoint data, and sums of
// floating-point numbers go through ordered_sum, whose blocks and order of addition are fixed by
// the caller's block size alone.
//
// With UNWEAVE_STD_SCHEDULER (CMake: -DUNWEAVE_SCHEDULER=std, preset tsan) the same verbs run on
// std::jthread: the thread sanitizer sees into those, while Debian's TBB is not instrumented and
// looks like one race after another.
#pragma once

#ifndef UNWEAVE_STD_SCHEDULER
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "storage/io/waiting_items.h"

namespace unweave {

/// Limits the whole process to `threads` worker threads for the lifetime of this object; 0 means
/// one per core.
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

#ifdef UNWEAVE_STD_SCHEDULER
/// Runs `work` on at most `most` threads at once and waits; throws the first exception.
template <class Work>
void run_on_threads(std::size_t most, const Work& work) {
  std::exception_ptr failure;
  std::mutex mutex;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < std::min(most, active_threads()); ++i)
      threads.emplace_back([&] {
        try {
          work();
        } catch (...) {
          const std::scoped_lock lock(mutex);
          if (!failure) failure = std::current_exception();
        }
      });
  }
  if (failure) std::rethrow_exception(failure);
}
#endif

/// Calls body(first, last) on disjoint pieces of [begin, end) of at most `grain` items, on any
/// thread in any order.
template <class Body>
void parallel_ranges(std::size_t begin, std::size_t end, std::size_t grain, const Body& body) {
  if (end <= begin) return;
  if (end - begin <= grain) {
    body(begin, end);
    return;
  }
#ifdef UNWEAVE_STD_SCHEDULER
  const std::size_t step = std::max<std::size_t>(1, grain);
  std::atomic<std::size_t> next = begin;
  run_on_threads((end - begin + step - 1) / step, [&] {
    for (std::size_t first = next.fetch_add(step); first < end; first = next.fetch_add(step))
      body(first, std::min(end, first + step));
  });
#else
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(begin, end, std::max<std::size_t>(1, grain)),
      [&](const tbb::blocked_range<std::size_t>& piece) { body(piece.begin(), piece.end()); },
      tbb::simple_partitioner());
#endif
}

/// Calls work(item, worker) once for every item below `items`, begun in ascending order, with at
/// most `workers` at once; no two calls at a time have the same worker, a number below `workers`.
/// Throws the first exception; items that have not begun by then are dropped.
template <class Work>
void run_items(std::size_t items, std::size_t workers, const Work& work) {
  std::atomic<std::size_t> next = 0;
  parallel_ranges(0, std::min(items, workers), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t worker = first; worker < last; ++worker) {
      try {
        for (std::size_t item = next++; item < items; item = next++) work(item, worker);
      } catch (...) {
        next = items;
        throw;
      }
    }
  });
}

/// Sorts a random-access range in parallel.
template <class Iterator, class Less>
void parallel_sort(Iterator first, Iterator last, const Less& less) {
#ifdef UNWEAVE_STD_SCHEDULER
  std::sort(first, last, less);
#else
  tbb::parallel_sort(first, last, less);
#endif
}

/// Sum of part(first, last) over consecutive blocks of `block` items of [0, items), added in block
/// order: the result is the same for any number of threads. T needs += and a default constructor.
template <class T, class Part>
[[nodiscard]] T ordered_sum(std::size_t items, std::size_t block, T zero, const Part& part) {
  const std::size_t blocks = (items + block - 1) / block;
  std::vector<T> parts(blocks);
  parallel_ranges(0, blocks, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) parts[i] = part(i * block, std::min(items, (i + 1) * block));
  });
  for (T& one : parts) zero += one;
  return zero;
}

}  // namespace unweave
