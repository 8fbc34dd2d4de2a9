// algorithms/api/resources.cpp - limits of memory and threads, put in force for as long as their
// object lives.
#include "unweave/resources.h"

#include <algorithm>

#include "engine/resources/parallel.h"

namespace unweave {
inline namespace v0 {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// What is left for pieces that nobody charges one by one.
std::uint64_t without_overhead(std::uint64_t bytes) noexcept {
  return bytes - std::min(bytes / 2, std::clamp(bytes / 16, kUnchargedBytes, 32 * kMiB));
}

}  // namespace

Resources::Resources(const ResourceLimits& limits, WorkMeter* meter)
    : threads_(limits.threads > 0 ? std::make_unique<ThreadLimit>(limits.threads) : nullptr),
      memory_(without_overhead(limits.memory_bytes > 0 ? limits.memory_bytes : default_memory_limit())),
      meter_(meter) {}

Resources::~Resources() = default;

}  // namespace v0
}  // namespace unweave
