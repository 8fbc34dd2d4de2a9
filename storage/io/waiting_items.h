// storage/io/waiting_items.h - threads of their own for items that wait for a disk rather than use
// a processor.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace unweave {

/// `workers` threads, or the caller's where that is one, each call work(next_item) once, and there
/// next_item() for one item after another, in ascending order, until it gives `items` or more.
/// Throws the first exception; items that have not begun by then are dropped.
template <class Work>
void run_waiting_items(std::size_t items, std::size_t workers, const Work& work) {
  std::atomic<std::size_t> next = 0;
  if (std::min(items, workers) == 1) return work([&] { return next++; });
  std::exception_ptr failure;
  std::mutex mutex;
  const auto run = [&] {
    try {
      work([&] { return next++; });
    } catch (...) {
      next = items;
      const std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    try {
      for (std::size_t i = 0; i < std::min(items, workers); ++i) threads.emplace_back(run);
    } catch (const std::system_error&) {
      if (threads.empty()) run();  // the system gives no more: some will do
    }
  }
  if (failure) std::rethrow_exception(failure);
}

/// Calls wait(item) for each item, where there are many on several threads: to sync a file, say,
/// waits for a disk to empty its own cache, which is done once for all that wait together.
template <class Wait>
void wait_together(std::size_t items, const Wait& wait) {
  constexpr std::size_t kItemsAThread = 32, kMostThreads = 16;
  run_waiting_items(items, std::min((items + kItemsAThread - 1) / kItemsAThread, kMostThreads), [&](auto&& next_item) {
    for (std::size_t item = next_item(); item < items; item = next_item()) wait(item);
  });
}

}  // namespace unweave
