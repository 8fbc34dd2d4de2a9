#include "engine/parallel.h"

#include <tbb/global_control.h>
#include <tbb/info.h>

namespace unweave {

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

}  // namespace unweave
