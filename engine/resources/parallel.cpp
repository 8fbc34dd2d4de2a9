// engine/resources/parallel.cpp - holds the number of threads, and limits it for a time.
#include "engine/resources/parallel.h"

#ifndef UNWEAVE_STD_SCHEDULER
#include <tbb/global_control.h>
#include <tbb/info.h>
#endif

namespace unweave {

#ifdef UNWEAVE_STD_SCHEDULER

namespace {

std::size_t hardware_threads() {
  return std::max(1U, std::thread::hardware_concurrency());
}

std::atomic<std::size_t>& limit() {
  static std::atomic<std::size_t> threads = hardware_threads();
  return threads;
}

}  // namespace

struct ThreadLimit::Impl {
  std::size_t before;
};

ThreadLimit::ThreadLimit(std::size_t threads)
    : impl_(new Impl{limit().exchange(threads > 0 ? threads : hardware_threads())}) {}

ThreadLimit::~ThreadLimit() {
  limit() = impl_->before;
}

std::size_t active_threads() {
  return limit();
}

#else

struct ThreadLimit::Impl {
  tbb::global_control control;
};

ThreadLimit::ThreadLimit(std::size_t threads)
    : impl_(new Impl{tbb::global_control(
          tbb::global_control::max_allowed_parallelism,
          threads > 0 ? threads : static_cast<std::size_t>(std::max(1, tbb::info::default_concurrency())))}) {}

ThreadLimit::~ThreadLimit() = default;

std::size_t active_threads() {
  return tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
}

#endif

}  // namespace unweave
