// algorithms/updates/changed_rows.cpp - charges changed rows as they grow, and moves them to files when memory is
// short.
#include "algorithms/updates/changed_rows.h"

#include <malloc.h>

#include <algorithm>
#include <utility>

namespace unweave {
namespace {

constexpr std::uint64_t kLeastGain = std::uint64_t{64} << 10;

std::uint64_t changed_bytes(const Embedding& embedding) {
  if (!embedding.has_sums()) return 0;  // nothing changes
  std::uint64_t bytes = embedding.deferred().rows.bytes() + embedding.cone().bytes();
  for (std::uint32_t l = 1; l <= embedding.levels(); ++l) bytes += embedding.level(l).overlay_bytes();
  for (std::uint32_t l = 0; l < embedding.levels(); ++l) bytes += embedding.stale(l).bytes();
  return bytes;
}

}  // namespace

ChangedRows::ChangedRows(MemoryBudget& budget, std::filesystem::path spools, std::function<void(StateLevel&)> fold)
    : budget_(budget), spools_(std::move(spools)), fold_(std::move(fold)) {}

void ChangedRows::charge(const Embedding& embedding) {
  bytes_ = changed_bytes(embedding);
  memory_.release();
  memory_ = budget_.reserve(std::min(bytes_, budget_.available()), "changed rows");
}

void ChangedRows::make_room(Embedding& embedding, std::uint64_t bytes) {
  bool freed = false;
  while (embedding.has_sums() && budget_.available() < bytes) {
    std::uint64_t most = 0;
    StateLevel* level = nullptr;
    StaleRows* stale = nullptr;
    for (std::uint32_t l = 1; l <= embedding.levels(); ++l) {
      if (embedding.level(l).overlay_bytes() <= most) continue;
      level = &embedding.level(l);
      most = level->overlay_bytes();
    }
    for (std::uint32_t l = 0; l < embedding.levels(); ++l) {
      if (embedding.stale(l).bytes_in_memory() <= most) continue;
      stale = &embedding.stale(l);
      most = stale->bytes_in_memory();
    }
    ReceivedRows& received = embedding.deferred().rows;
    const bool spills_received = received.bytes_in_memory() > most;
    if (std::max(most, received.bytes_in_memory()) < kLeastGain) break;
    if (spills_received)
      received.spill(spools_);
    else if (stale != nullptr)
      stale->spill(spools_);
    else
      fold_(*level);
    charge(embedding);
    freed = true;
  }
  if (freed) malloc_trim(0);  // what is free between blocks that are not is the process's memory all the same
}

void ChangedRows::release() noexcept {
  memory_.release();
  bytes_ = 0;
}

}  // namespace unweave
