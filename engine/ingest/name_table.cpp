// engine/ingest/name_table.cpp - an open hash table whose slots hold the names themselves.
#include "engine/ingest/name_table.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace unweave {
namespace {

constexpr std::array<std::size_t, 3> kSlots{16, 32, 64};

template <class Word>
bool same_word(const char* a, const char* b) noexcept {
  Word left = 0, right = 0;
  std::memcpy(&left, a, sizeof left);
  std::memcpy(&right, b, sizeof right);
  return left == right;
}

/// Whether so many bytes agree. Words at the end overlap those before, so that no byte is compared
/// alone but in the shortest names, and none is read that does not belong to them.
bool same_bytes(const char* a, const char* b, std::size_t count) noexcept {
  if (count >= sizeof(std::uint64_t)) {
    const std::size_t last = count - sizeof(std::uint64_t);
    for (std::size_t at = 0; at < last; at += sizeof(std::uint64_t))
      if (!same_word<std::uint64_t>(a + at, b + at)) return false;
    return same_word<std::uint64_t>(a + last, b + last);
  }
  if (count >= sizeof(std::uint32_t)) {
    const std::size_t last = count - sizeof(std::uint32_t);
    return same_word<std::uint32_t>(a, b) && same_word<std::uint32_t>(a + last, b + last);
  }
  for (std::size_t at = 0; at < count; ++at)
    if (a[at] != b[at]) return false;
  return true;
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

/// A name is sought from the first slot of a line of the cache on, so that most are found on the
/// one that was asked for.
std::uint64_t NameTable::lines(const NameList& names) {
  return (2 * names.named() * slot_bytes(names) + kLineBytes - 1) / kLineBytes + 1;  // half of the slots stay empty
}

std::uint64_t NameTable::bytes(const NameList& names) {
  return HugeBuffer::charge(lines(names) * kLineBytes);
}

NameTable::NameTable(const NameList& names, MemoryBudget& budget)
    : names_(names),
      slot_bytes_(slot_bytes(names)),
      lines_(lines(names)),
      slots_count_(lines_ * kLineBytes / slot_bytes_),
      slots_(lines_ * kLineBytes, budget, "names of nodes") {
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
  return static_cast<std::uint64_t>(UInt128{hash} * lines_ >> 64) * (kLineBytes / slot_bytes_);
}

template <std::size_t kBytes>
void NameTable::insert(std::string_view name, NodeId id) {
  for (std::uint64_t at = first_slot(name_hash(name));; at = at + 1 == slots_count_ ? 0 : at + 1) {
    std::byte* const slot = slots_.data() + at * kBytes;
    std::uint32_t taken = 0;
    std::memcpy(&taken, slot, sizeof taken);
    if (taken != 0) continue;
    taken = id + 1;
    std::memcpy(slot, &taken, sizeof taken);
    slot[sizeof taken] = static_cast<std::byte>(name.size());
    std::memcpy(slot + kHeadBytes, name.data(), std::min(name.size(), kBytes - kHeadBytes));
    return;
  }
}

template <std::size_t kBytes>
NodeId NameTable::find_from(std::uint64_t at, std::string_view name) const {
  constexpr std::size_t kRoom = kBytes - kHeadBytes;
  for (;; at = at + 1 == slots_count_ ? 0 : at + 1) {
    const char* const slot = slots_.as<const char>() + at * kBytes;
    std::uint32_t taken = 0;
    std::memcpy(&taken, slot, sizeof taken);
    if (taken == 0) return kNoNode;
    if (static_cast<unsigned char>(slot[sizeof taken]) != name.size() ||
        !same_bytes(slot + kHeadBytes, name.data(), std::min(name.size(), kRoom)))
      continue;
    if (name.size() <= kRoom || names_.name(taken - 1) == name) return taken - 1;
  }
}

template <std::size_t kBytes>
void NameTable::find_all(std::span<const std::string_view> names, NodeId* nodes) const {
  constexpr std::size_t kAtOnce = 16;  // lines on their way at a time
  std::array<std::uint64_t, kAtOnce> slots{};
  for (std::size_t first = 0; first < names.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, names.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      slots[i] = first_slot(name_hash(names[first + i]));
      __builtin_prefetch(slots_.data() + slots[i] * kBytes);
    }
    for (std::size_t i = 0; i < count; ++i) nodes[first + i] = find_from<kBytes>(slots[i], names[first + i]);
  }
}

void NameTable::find(std::span<const std::string_view> names, NodeId* nodes) const {
  slot_bytes_ == kSlots[0]   ? find_all<kSlots[0]>(names, nodes)
  : slot_bytes_ == kSlots[1] ? find_all<kSlots[1]>(names, nodes)
                             : find_all<kSlots[2]>(names, nodes);
}

}  // namespace unweave
