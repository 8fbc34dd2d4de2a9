// algorithms/updates/changed_rows.cpp - charges changed rows as they grow, and moves them to files
// when memory is short.
#include "algorithms/updates/changed_rows.h"

#include <algorithm>
#include <utility>

#include "engine/resources/memory_peak.h"
#include "engine/resources/memory_shares.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint64_t kLeastGain = std::uint64_t{64} << 10;

std::uint64_t least_spill(const MemoryBudget& budget) {
  return std::clamp(memory_shares::kLeastSpill.of(budget), kLeastGain, std::uint64_t{256} << 10);
}

std::uint64_t least_fold(const MemoryBudget& budget) {
  return std::clamp(memory_shares::kLeastFold.of(budget), kLeastGain, std::uint64_t{1} << 20);
}

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
  for (;;) {
    try {
      memory_ = budget_.reserve(std::min(bytes_, budget_.available()), "changed rows");
      return;
    } catch (const ResourceError&) {  // another thread has taken of it meanwhile
    }
  }
}

void ChangedRows::make_room(Embedding& embedding, std::uint64_t bytes) {
  const auto lacks = [&](std::uint64_t room) { return embedding.has_sums() && budget_.available() < room; };
  if (!lacks(bytes)) return;
  // Where memory is short, as much is freed at once as a level's update begins with.
  const std::uint64_t wanted = std::max(bytes, memory_shares::kLeastUpdateRoom.of(budget_));
  bool freed = false;
  while (lacks(wanted) && (spill_most(embedding) || (lacks(bytes) && fold_most(embedding)))) {
    charge(embedding);
    freed = true;
  }
  if (freed) trim_memory(budget_);
}

bool ChangedRows::spill_most(Embedding& embedding) {
  ReceivedRows& received = embedding.deferred().rows;
  std::uint64_t most = received.bytes_in_memory();
  std::function<void()> spill = [&] { received.spill(spools_); };
  const auto consider = [&](std::uint64_t bytes, auto& rows) {
    if (bytes <= most) return;
    most = bytes;
    spill = [this, &rows] { rows.spill(spools_); };
  };
  for (std::uint32_t l = 1; l <= embedding.levels(); ++l)
    consider(embedding.level(l).spillable_bytes(), embedding.level(l));
  for (std::uint32_t l = 0; l < embedding.levels(); ++l)
    consider(embedding.stale(l).bytes_in_memory(), embedding.stale(l));
  if (most < least_spill(budget_)) return false;
  spill();
  return true;
}

bool ChangedRows::fold_most(Embedding& embedding) {
  StateLevel* most = nullptr;
  for (std::uint32_t l = 1; l <= embedding.levels(); ++l)
    if (most == nullptr || embedding.level(l).overlay_bytes() > most->overlay_bytes()) most = &embedding.level(l);
  if (most == nullptr || most->overlay_bytes() < least_fold(budget_)) return false;
  fold_(*most);
  return true;
}

void ChangedRows::release() noexcept {
  memory_.release();
  bytes_ = 0;
}

}  // namespace unweave
