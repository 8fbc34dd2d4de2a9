// engine/ranks/ranks.cpp - the job of a process, which is one rank unless a launcher has begun several.
#include "engine/ranks/ranks.h"

#include <atomic>

namespace unweave {
namespace {

std::atomic<Ranks*> present_ranks = nullptr;

}  // namespace

Ranks& Ranks::world() noexcept {
  static Ranks one;
  Ranks* const set = present_ranks.load(std::memory_order_acquire);
  return set != nullptr ? *set : one;
}

void Ranks::set_world(Ranks* ranks) noexcept {
  present_ranks.store(ranks, std::memory_order_release);
}

std::string from_first(std::string text) {
  text.resize(static_cast<std::size_t>(from_first(std::uint64_t{text.size()})));
  Ranks::world().broadcast(std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace unweave
