// engine/ingest/name_table.cpp - an open hash table whose slots hold the names themselves.
#include "engine/ingest/name_table.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace unweave {
namespace {

constexpr std::array<std::size_t, 3> kSlots{16, 32, 64};

/// The name as a slot holds it behind its id.
template <std::size_t kBytes>
std::array<char, kBytes> slot_of(std::string_view name, NodeId id) noexcept {
  std::array<char, kBytes> slot{};
  const std::uint32_t head = id + 1;
  std::memcpy(slot.data(), &head, sizeof head);
  std::memcpy(slot.data() + sizeof head, name.data(), std::min(name.size(), kBytes - sizeof head));
  return slot;
}

/// Whether they hold the same name, whatever their ids.
template <std::size_t kBytes>
bool same_name(const char* a, const char* b) noexcept {
  std::array<std::uint64_t, kBytes / sizeof(std::uint64_t)> left, right;
  std::memcpy(left.data(), a, kBytes);
  std::memcpy(right.data(), b, kBytes);
  std::uint64_t difference = (left[0] ^ right[0]) >> 32;
  for (std::size_t i = 1; i < left.size(); ++i) difference |= left[i] ^ right[i];
  return difference == 0;
}

}  // namespace

/// The size that most names fit.
std::size_t NameTable::slot_bytes(const NameList& names) {
  const std::uint64_t named = std::max<std::uint64_t>(1, names.named());
  const std::uint64_t average =
      (names.file().size() - names.nodes() + named - 1) / named;  // the lengths are not its own
  for (const std::size_t bytes : kSlots)
    if (average + kHeadBytes <= bytes) return bytes;
  return kSlots.back();
}

std::uint64_t NameTable::bytes(const NameList& names) {
  return HugeBuffer::charge((names.named() * 3 / 2 + 8) * slot_bytes(names));
}

NameTable::NameTable(const NameList& names, MemoryBudget& budget)
    : names_(names),
      slot_bytes_(slot_bytes(names)),
      slots_count_(names.named() * 3 / 2 + 8),  // a third stays empty
      slots_(slots_count_ * slot_bytes_, budget, "names of nodes") {
  slots_.commit();
  slot_bytes_ == kSlots[0] ? fill<kSlots[0]>() : slot_bytes_ == kSlots[1] ? fill<kSlots[1]>() : fill<kSlots[2]>();
}

template <std::size_t kBytes>
void NameTable::fill() {
  constexpr NodeId kAtOnce = 32;
  std::array<std::string_view, kAtOnce> texts;
  for (NodeId first = 0; first < names_.nodes();) {
    const NodeId count = std::min(kAtOnce, names_.nodes() - first);
    for (NodeId i = 0; i < count; ++i) {
      texts[i] = names_.name(first + i);
      __builtin_prefetch(slots_.data() + first_slot(name_hash(texts[i])) * kBytes, 1);
    }
    for (NodeId i = 0; i < count; ++i)
      if (!texts[i].empty()) insert<kBytes>(texts[i], first + i);
    first += count;
  }
}

std::uint64_t NameTable::first_slot(std::uint64_t hash) const noexcept {
  return static_cast<std::uint64_t>(UInt128{hash} * slots_count_ >> 64);
}

template <std::size_t kBytes>
void NameTable::insert(std::string_view name, NodeId id) {
  const auto slot = slot_of<kBytes>(name, id);
  for (std::uint64_t at = first_slot(name_hash(name));; at = at + 1 == slots_count_ ? 0 : at + 1) {
    std::uint32_t taken = 0;
    std::memcpy(&taken, slots_.data() + at * kBytes, sizeof taken);
    if (taken != 0) continue;
    std::memcpy(slots_.data() + at * kBytes, slot.data(), kBytes);
    return;
  }
}

template <std::size_t kBytes>
NodeId NameTable::find_from(std::uint64_t at, std::string_view name) const {
  const auto wanted = slot_of<kBytes>(name, 0);
  for (;; at = at + 1 == slots_count_ ? 0 : at + 1) {
    const char* const slot = slots_.as<const char>() + at * kBytes;
    std::uint32_t taken = 0;
    std::memcpy(&taken, slot, sizeof taken);
    if (taken == 0) return kNoNode;
    if (!same_name<kBytes>(slot, wanted.data())) continue;
    if (wanted.back() == '\0' || names_.name(taken - 1) == name) return taken - 1;
  }
}

template <std::size_t kBytes>
void NameTable::find_all(std::span<const std::string_view> names, NodeId* nodes) const {
  constexpr std::size_t kAhead = 16;  // slots on their way at a time
  std::array<std::uint64_t, kAhead> slots{};
  const auto ask = [&](std::size_t i) {
    const std::uint64_t slot = slots[i % kAhead] = first_slot(name_hash(names[i]));
    __builtin_prefetch(slots_.data() + slot * kBytes);
  };
  for (std::size_t i = 0; i < std::min(kAhead, names.size()); ++i) ask(i);
  for (std::size_t i = 0; i < names.size(); ++i) {
    nodes[i] = find_from<kBytes>(slots[i % kAhead], names[i]);
    if (i + kAhead < names.size()) ask(i + kAhead);
  }
}

void NameTable::find(std::span<const std::string_view> names, NodeId* nodes) const {
  slot_bytes_ == kSlots[0]   ? find_all<kSlots[0]>(names, nodes)
  : slot_bytes_ == kSlots[1] ? find_all<kSlots[1]>(names, nodes)
                             : find_all<kSlots[2]>(names, nodes);
}

}  // namespace unweave
