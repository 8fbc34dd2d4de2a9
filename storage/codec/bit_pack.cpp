// storage/codec/bit_pack.cpp - packs in plain code, and unpacks by code for each instruction set, chosen at run time.
#include "storage/codec/bit_pack.h"

#include <algorithm>
#include <array>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "storage/codec/bit_pack.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Lanes16 = hn::CappedTag<std::uint32_t, kPackGroup>;
using Vector = hn::Vec<Lanes16>;

// A group is read in whole vectors or words, which reach at most this far from its first byte.
constexpr std::size_t kGroupReach = kPackGroup * sizeof(std::uint32_t) + sizeof(std::uint32_t);

// Groups of wider gaps, and graphs of more nodes, are summed in 64 bits. Up to these limits a sum that starts below
// num_nodes cannot wrap inside one group: 2^31 + 16 * 2^27 = 2^32.
constexpr unsigned kFastWidth = 27;
constexpr NodeId kFastNodes = NodeId{1} << 31;

#if HWY_TARGET == HWY_SCALAR

// Vectors of one lane.
HWY_INLINE Vector unpack_vector(Lanes16 d, const std::uint8_t* src, unsigned width, std::size_t from) {
  std::uint64_t bits;
  std::memcpy(&bits, src + from * width / 8, sizeof bits);
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  return hn::Set(d, static_cast<std::uint32_t>((bits >> (from * width % 8)) & mask));
}

HWY_INLINE Vector prefix_sum(Lanes16, Vector v) {
  return v;
}

HWY_INLINE Vector broadcast_last(Lanes16, Vector v) {
  return v;
}

#else

// Values [from, from + lanes) of the run at `src`. They start at a multiple of 4 bits, since there are at least four
// lanes, so their words lie within one vector loaded from their first byte.
HWY_INLINE Vector unpack_vector(Lanes16 d, const std::uint8_t* src, unsigned width, std::size_t from) {
  const hn::Repartition<std::uint8_t, Lanes16> d8;
  const std::size_t first_bit = from * width;
  src += first_bit / 8;
  const Vector words = hn::BitCast(d, hn::LoadU(d8, src));
  const Vector next_words = hn::BitCast(d, hn::LoadU(d8, src + sizeof(std::uint32_t)));
  Vector bit = hn::Mul(hn::Iota(d, 0), hn::Set(d, width));
  if (hn::Lanes(d) < 8) bit = hn::Add(bit, hn::Set(d, static_cast<std::uint32_t>(first_bit % 8)));
  const auto word = hn::IndicesFromVec(d, hn::ShiftRight<5>(bit));
  const Vector shift = hn::And(bit, hn::Set(d, 31));
  const Vector low = hn::Shr(hn::TableLookupLanes(words, word), shift);
  // Two shifts to the left, as one by 32 would be undefined.
  const Vector next = hn::TableLookupLanes(next_words, word);
  const Vector high = hn::Shl(hn::Add(next, next), hn::Xor(shift, hn::Set(d, 31)));
  return hn::And(hn::Or(low, high), hn::Set(d, static_cast<std::uint32_t>((std::uint64_t{1} << width) - 1)));
}

// Lane i becomes the sum of lanes 0 to i, modulo 2^32.
HWY_INLINE Vector prefix_sum(Lanes16 d, Vector v) {
  v = hn::Add(v, hn::ShiftLeftLanes<1>(d, v));
  v = hn::Add(v, hn::ShiftLeftLanes<2>(d, v));
  const Vector lane = hn::Iota(d, 0);
  for (std::uint32_t step = 4; step < hn::Lanes(d); step *= 2) {
    const auto upper = hn::TestBit(lane, hn::Set(d, step));
    const Vector below = hn::And(lane, hn::Set(d, ~(2 * step - 1)));
    const Vector from = hn::Or(below, hn::Set(d, step - 1));
    v = hn::Add(v, hn::IfThenElseZero(upper, hn::TableLookupLanes(v, hn::IndicesFromVec(d, from))));
  }
  return v;
}

HWY_INLINE Vector broadcast_last(Lanes16 d, Vector v) {
  const Vector last = hn::Set(d, static_cast<std::uint32_t>(hn::Lanes(d) - 1));
  return hn::TableLookupLanes(v, hn::IndicesFromVec(d, last));
}

#endif

// The slow way through a group: `count` ids after `previous`. False if one reaches num_nodes.
bool sum_slowly(const GroupValues& gaps, std::size_t count, std::uint64_t previous, NodeId num_nodes, NodeId* to) {
  for (std::size_t i = 0; i < count; ++i) {
    previous += std::uint64_t{gaps[i]} + 1;
    if (previous >= num_nodes) return false;
    to[i] = static_cast<NodeId>(previous);
  }
  return true;
}

// Bytes of which kGroupReach may be read from any place; the last ones are read from a copy with zeros behind it.
class PaddedBytes {
 public:
  explicit PaddedBytes(std::span<const std::byte> bytes)
      : data_(reinterpret_cast<const std::uint8_t*>(bytes.data())), size_(bytes.size()) {
    if (size_ >= kGroupReach)
      std::memcpy(tail_.data(), data_ + size_ - kGroupReach, kGroupReach);  // a copy of fixed size, as it is hot
    else
      std::copy_n(data_, size_, tail_.begin() + static_cast<std::ptrdiff_t>(kGroupReach - size_));
  }
  HWY_INLINE const std::uint8_t* at(std::size_t offset) const {
    return offset + kGroupReach <= size_ ? data_ + offset : tail_.data() + (offset + kGroupReach - size_);
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::array<std::uint8_t, 2 * kGroupReach> tail_{};
};

bool unpack_lists(const PackedLists& lists, NodeId* targets) {
  const Lanes16 d;
  const std::size_t lanes = hn::Lanes(d);
  const Vector gap_bias = hn::Iota(d, 1);
  const PaddedBytes bytes(lists.bytes);
  const bool wide_graph = lists.num_nodes > kFastNodes;
  if (lists.base >= lists.num_nodes) return false;
  const NodeId first_end = lists.num_nodes - lists.base;

  std::array<NodeId, kMaxPackedLists> firsts{};
  for (std::size_t group = 0; group < kMaxPackedLists; group += kPackGroup) {
    const std::size_t run_at = lists.firsts_at + packed_bytes(group, lists.first_width);
    if (run_at >= lists.shapes_at) break;  // no lists are left, or all firsts are 0
    const std::uint8_t* const run = bytes.at(run_at);
    for (std::size_t i = 0; i < kPackGroup; i += lanes)
      hn::StoreU(unpack_vector(d, run, lists.first_width, i), d, firsts.data() + group + i);
  }

  const std::byte* shape_at = lists.bytes.data() + lists.shapes_at;
  const std::span<const std::byte> groups = lists.bytes.first(lists.groups_end);
  const NodeId* first = firsts.data();
  std::size_t at = lists.groups_at;
  Vector highest = hn::Zero(d);  // largest of the ids that later groups build upon
  NodeId highest_last = 0;       // largest of the ids that end a list
  for (const std::uint32_t count : lists.counts) {
    if (count == 0) continue;
    const NodeId relative = *first++;
    if (relative >= first_end) return false;
    *targets = lists.base + relative;
    Vector carry = hn::Set(d, *targets);
    NodeId* to = targets + 1;
    for (std::size_t left = count - 1; left > 0;) {
      const std::size_t in_group = std::min(left, kPackGroup);
      const unsigned shape = std::to_integer<unsigned>(*shape_at++);
      const unsigned width = shape & ~kPatched;
      const std::size_t size = packed_bytes(in_group, width);
      if (width > kMaxPackWidth || size > lists.groups_end - at) return false;
      const std::uint8_t* const run = bytes.at(at);
      at += size;
      if (HWY_UNLIKELY(shape > kFastWidth || wide_graph)) {
        GroupValues gaps;
        for (std::size_t i = 0; i < kPackGroup; i += lanes)
          hn::StoreU(unpack_vector(d, run, width, i), d, gaps.data() + i);
        if ((shape & kPatched) != 0 && !apply_patch(groups, at, width, gaps)) return false;
        if (!sum_slowly(gaps, in_group, hn::GetLane(carry), lists.num_nodes, to)) return false;
        carry = hn::Set(d, to[in_group - 1]);
      } else {
        for (std::size_t i = 0; i < in_group; i += lanes) {
          const Vector ids = hn::Add(prefix_sum(d, unpack_vector(d, run, width, i)), hn::Add(carry, gap_bias));
          hn::StoreU(ids, d, to + i);
          carry = broadcast_last(d, ids);
        }
      }
      to += in_group;
      left -= in_group;
      if (left > 0) highest = hn::Max(highest, carry);
    }
    targets += count;
    highest_last = std::max(highest_last, targets[-1]);
  }
  return at == lists.groups_end && std::max(highest_last, hn::GetLane(highest)) < lists.num_nodes;
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unweave {

unsigned pack_width(std::span<const std::uint32_t> values) noexcept {
  std::uint32_t bits = 0;
  for (const std::uint32_t value : values) bits |= value;
  return static_cast<unsigned>(std::bit_width(bits));
}

void pack(std::span<const std::uint32_t> values, unsigned width, std::vector<std::byte>& out) {
  const std::size_t begin = out.size();
  out.resize(begin + packed_bytes(values.size(), width));
  std::byte* to = out.data() + begin;
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << width) - 1);
  std::uint64_t pending = 0;
  unsigned pending_bits = 0;
  for (const std::uint32_t value : values) {
    pending |= std::uint64_t{value & mask} << pending_bits;
    pending_bits += width;
    if (pending_bits >= 32) {
      std::memcpy(to, &pending, sizeof(std::uint32_t));
      to += sizeof(std::uint32_t);
      pending >>= 32;
      pending_bits -= 32;
    }
  }
  if (pending_bits > 0) std::memcpy(to, &pending, (pending_bits + 7) / 8);
}

std::uint32_t unpack_one(std::span<const std::byte> bytes, unsigned width, std::size_t index) noexcept {
  const std::size_t first = index * width / 8;
  std::uint64_t bits = 0;
  if (first + sizeof bits <= bytes.size()) {
    std::memcpy(&bits, bytes.data() + first, sizeof bits);
  } else {
    const std::size_t end = packed_bytes(index + 1, width);
    for (std::size_t i = first; i < end; ++i) bits |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * (i - first));
  }
  return static_cast<std::uint32_t>((bits >> (index * width % 8)) & ((std::uint64_t{1} << width) - 1));
}

namespace {

constexpr std::size_t kPatchHeader = 3;  // width of the high bits, a bit for each value

// A patch takes a processor several times as long as a run, so it must save a quarter of the bytes.
constexpr std::size_t kMostPatched = 3;
constexpr std::size_t kMostPatchedOf = 4;

struct Shape {
  unsigned low;
  unsigned high;  // 0: no patch
};

// The first `size` values that have at most `bits` bits.
std::size_t values_within(const GroupValues& values, std::size_t size, unsigned bits) {
  std::size_t within = 0;
  for (const std::uint32_t value : values) within += (value >> bits) == 0 ? 1 : 0;
  return within - (kPackGroup - size);
}

Shape group_shape(const GroupValues& values, std::size_t size) {
  const unsigned width = pack_width(values);
  Shape best{width, 0};
  const std::size_t most = packed_bytes(size, width) * kMostPatched / kMostPatchedOf;
  if (most < kPatchHeader + 1) return best;
  // To save a quarter, the values without high bits times the width of those must exceed a quarter of size * width.
  // So more than half of the values have at most 3/4 of the bits, or more than a quarter of them at most half.
  if (2 * values_within(values, size, width - width / 4 - 1) <= size &&
      4 * values_within(values, size, (width - 1) / 2) <= size)
    return best;
  std::array<std::size_t, kMaxPackWidth + 1> of_width{};
  for (const std::uint32_t value : std::span(values).first(size)) ++of_width[std::bit_width(value)];
  std::size_t best_bytes = most + 1;
  std::size_t patched = 0;
  for (unsigned low = width; low > 0;) {
    patched += of_width[low--];
    const std::size_t bytes = packed_bytes(size, low) + kPatchHeader + packed_bytes(patched, width - low);
    if (bytes >= best_bytes) continue;
    best_bytes = bytes;
    best = {low, width - low};
  }
  return best;
}

struct Patch {
  unsigned width;
  unsigned values;  // bit i: value i has high bits
  std::size_t run_at;
};

// Reads the header of the patch at bytes[at] and moves `at` behind the patch.
bool read_patch(std::span<const std::byte> bytes, std::size_t& at, unsigned low, Patch& patch) noexcept {
  if (bytes.size() < kPatchHeader || at > bytes.size() - kPatchHeader) return false;
  patch.width = std::to_integer<unsigned>(bytes[at]);
  if (patch.width + low > kMaxPackWidth) return false;
  patch.values = std::to_integer<unsigned>(bytes[at + 1]) | std::to_integer<unsigned>(bytes[at + 2]) << 8;
  patch.run_at = at + kPatchHeader;
  const std::size_t size = packed_bytes(static_cast<std::size_t>(std::popcount(patch.values)), patch.width);
  if (size > bytes.size() - patch.run_at) return false;
  at = patch.run_at + size;
  return true;
}

}  // namespace

std::byte pack_group(const GroupValues& values, std::size_t size, std::vector<std::byte>& out) {
  const Shape shape = group_shape(values, size);
  pack(std::span(values).first(size), shape.low, out);
  if (shape.high == 0) return static_cast<std::byte>(shape.low);
  GroupValues high;
  std::size_t patched = 0;
  unsigned mask = 0;
  for (std::size_t i = 0; i < size; ++i) {
    high[patched] = values[i] >> shape.low;
    if (high[patched] == 0) continue;
    ++patched;
    mask |= 1U << i;
  }
  for (const unsigned byte : {shape.high, mask & 0xFF, mask >> 8}) out.push_back(static_cast<std::byte>(byte));
  pack(std::span(high).first(patched), shape.high, out);
  return static_cast<std::byte>(shape.low | kPatched);
}

bool apply_patch(std::span<const std::byte> bytes, std::size_t& at, unsigned low, GroupValues& values) noexcept {
  Patch patch;
  if (!read_patch(bytes, at, low, patch)) return false;
  const std::span<const std::byte> run = bytes.subspan(patch.run_at);
  for (std::size_t i = 0; patch.values != 0; ++i, patch.values &= patch.values - 1) {
    const std::uint64_t high = unpack_one(run, patch.width, i);
    values[static_cast<std::size_t>(std::countr_zero(patch.values))] |= static_cast<std::uint32_t>(high << low);
  }
  return true;
}

bool skip_group(std::span<const std::byte> bytes, std::size_t& at, std::size_t size, unsigned shape) noexcept {
  const unsigned low = shape & ~kPatched;
  if (low > kMaxPackWidth || packed_bytes(size, low) > bytes.size() - at) return false;
  at += packed_bytes(size, low);
  Patch patch;
  return (shape & kPatched) == 0 || read_patch(bytes, at, low, patch);
}

bool unpack_group(std::span<const std::byte> bytes, std::size_t& at, std::size_t size, std::uint32_t* values) noexcept {
  if (at >= bytes.size()) return false;
  const unsigned shape = std::to_integer<unsigned>(bytes[at++]);
  const std::span<const std::byte> run = bytes.subspan(at);
  const unsigned low = shape & ~kPatched;
  if (!skip_group(bytes, at, size, low)) return false;
  GroupValues group{};
  for (std::size_t i = 0; i < size; ++i) group[i] = unpack_one(run, low, i);
  if ((shape & kPatched) != 0 && !apply_patch(bytes, at, low, group)) return false;
  std::copy_n(group.begin(), size, values);
  return true;
}

HWY_EXPORT(unpack_lists);

bool unpack_lists(const PackedLists& lists, NodeId* targets) {
  return HWY_DYNAMIC_DISPATCH(unpack_lists)(lists, targets);
}

}  // namespace unweave
#endif  // HWY_ONCE
