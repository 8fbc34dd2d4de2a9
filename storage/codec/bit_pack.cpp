// storage/codec/bit_pack.cpp - packs in plain code, and unpacks by code for each instruction set,
// chosen at run time.
#include "storage/codec/bit_pack.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "storage/codec/pack_tables.h"

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

// Groups of wider gaps, and graphs of more nodes, are summed in 64 bits. Up to these limits a sum
// that starts below num_nodes cannot wrap inside one group: 2^31 + 16 * 2^27 = 2^32.
constexpr unsigned kFastWidth = 27;
constexpr NodeId kFastNodes = NodeId{1} << 31;

// While a group is unpacked, the bytes that lie this far behind it are prefetched. Processors do so
// by themselves for bytes that are read in order, but they stop at the end of a page.
constexpr std::size_t kReadAhead = 2048;

#if HWY_TARGET == HWY_SCALAR

// On this target a vector has one lane.
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

// Extracts one value for each lane from the bytes at `src`. Its first bit is in the 32-bit word
// `word`, and `before` bits of that word are in front of it; `after` is 31 - before.
HWY_INLINE Vector unpack_words(Lanes16 d, const std::uint8_t* src, Vector word, Vector before, Vector after,
                               Vector mask) {
  const hn::Repartition<std::uint8_t, Lanes16> d8;
  const Vector words = hn::BitCast(d, hn::LoadU(d8, src));
  const Vector next_words = hn::BitCast(d, hn::LoadU(d8, src + sizeof(std::uint32_t)));
  const auto index = hn::IndicesFromVec(d, word);
  const Vector low = hn::Shr(hn::TableLookupLanes(words, index), before);
  // Two shifts to the left, as one by 32 would be undefined.
  const Vector next = hn::TableLookupLanes(next_words, index);
  const Vector high = hn::Shl(hn::Add(next, next), after);
  return hn::And(hn::Or(low, high), mask);
}

// Reads one value for each lane from the run at `src`. The first value begins at bit `first_bit`.
// All of them lie within one vector that is loaded from the byte of that bit.
HWY_INLINE Vector unpack_from_bit(Lanes16 d, const std::uint8_t* src, unsigned width, std::size_t first_bit) {
  const Vector bit =
      hn::Add(hn::Mul(hn::Iota(d, 0), hn::Set(d, width)), hn::Set(d, static_cast<std::uint32_t>(first_bit % 8)));
  const Vector before = hn::And(bit, hn::Set(d, 31));
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << width) - 1);
  return unpack_words(d, src + first_bit / 8, hn::ShiftRight<5>(bit), before, hn::Xor(before, hn::Set(d, 31)),
                      hn::Set(d, mask));
}

// Values [from, from + lanes) of the run at `src`; `from` is a multiple of the lanes, which are
// four at least.
HWY_INLINE Vector unpack_vector(Lanes16 d, const std::uint8_t* src, unsigned width, std::size_t from) {
  if (hn::Lanes(d) < 8) return unpack_from_bit(d, src, width, from * width);
  // Every eighth value begins at the beginning of a byte, so the tables for the beginning of a run
  // hold here, too.
  const RunTables& tables = kRunTables[width];
  return unpack_words(d, src + from * width / 8, hn::LoadU(d, tables.word.data()), hn::LoadU(d, tables.before.data()),
                      hn::LoadU(d, tables.after.data()), hn::LoadU(d, tables.mask.data()));
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

// What a patch adds to the values of its group, whose runs have `low` bits a value; `run` is that
// of its high bits.
class HighBits {
 public:
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_AVX2
  HWY_INLINE HighBits(const PatchHeader& patch, const std::uint8_t* run, unsigned low)
      : patch_(patch), run_(run), low_(static_cast<int>(low)) {}

  // What the patch adds to the values [i, i + lanes).
  HWY_INLINE Vector from(Lanes16 d, std::size_t i) const {
    return hn::ShiftLeftSame(expanded(d, i), low_);
  }

 private:
#if HWY_TARGET == HWY_AVX2
  HWY_INLINE Vector expanded(Lanes16 d, std::size_t i) const {
    const auto before = static_cast<std::size_t>(std::popcount(patch_.values & ((1U << i) - 1)));
    const Vector values = unpack_from_bit(d, run_, patch_.width, before * patch_.width);
    const std::uint64_t bits = patch_.values >> i & 0xFF;
    const auto patched = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
    const Vector place = hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, Lanes16>(), kSetBelow[bits].data()));
    return hn::IfThenElseZero(patched, hn::TableLookupLanes(values, hn::IndicesFromVec(d, place)));
  }
#else
  HWY_INLINE Vector expanded(Lanes16 d, std::size_t i) const {
    const auto patched = static_cast<__mmask16>(patch_.values);
    return Vector{_mm512_maskz_expand_epi32(patched, unpack_vector(d, run_, patch_.width, i).raw)};
  }
#endif
  PatchHeader patch_;
  const std::uint8_t* run_;
  int low_;
#else
  HWY_INLINE HighBits(const PatchHeader& patch, const std::uint8_t* run, unsigned low) {
    const std::uint64_t mask = (std::uint64_t{1} << patch.width) - 1;
    std::size_t bit = 0;
    for (unsigned rest = patch.values; rest != 0; rest &= rest - 1, bit += patch.width) {
      std::uint64_t bits;
      std::memcpy(&bits, run + bit / 8, sizeof bits);
      values_[static_cast<std::size_t>(std::countr_zero(rest))] =
          static_cast<std::uint32_t>((bits >> (bit % 8) & mask) << low);
    }
  }
  HWY_INLINE Vector from(Lanes16 d, std::size_t i) const {
    return hn::LoadU(d, values_.data() + i);
  }

 private:
  GroupValues values_{};
#endif
};

// A list of at least two ids, which therefore has groups.
struct LongList {
  NodeId first;
  std::uint32_t rest;  // ids after the first one
  NodeId* to;          // where these go
};

// The next group to be unpacked.
struct GroupCursor {
  const LongList* list;
  const LongList* end;
  std::size_t left;  // ids of the list from this group on
  NodeId* to;        // where these go
  NodeId previous;   // the id before them
  const std::byte* shape_at;
  std::size_t at;

  GroupCursor(std::span<const LongList> lists, const std::byte* shapes, std::size_t groups_at)
      : list(lists.data()), end(lists.data() + lists.size()), shape_at(shapes), at(groups_at) {
    if (list != end) begin_list();
  }
  HWY_INLINE void begin_list() {
    left = list->rest;
    to = list->to;
    previous = list->first;
  }
};

// Unpacks groups until none is left, the cursor is behind `limit`, or a group needs slow_group().
// The cursor's places count from `base`; at each of them up to `limit` a group may be read. The
// largest of the kPackGroup `highest_ids` takes in the ids that groups build upon.
HWY_NOINLINE void fast_groups(const std::uint8_t* base, std::size_t limit, GroupCursor& cursor, NodeId* highest_ids) {
  const Lanes16 d;
  GroupCursor c = cursor;
  Vector carry = hn::Set(d, c.previous);
  Vector highest = hn::LoadU(d, highest_ids);
  const Vector one = hn::Set(d, 1);
  std::size_t in_group = 0;
  // gaps_from(i) are gaps of the group from the i-th on, one a lane; those after its last one may
  // be anything.
  const auto sum_group = [&](const auto& gaps_from) HWY_ATTR {
    highest = hn::Max(highest, carry);
    // Wide vectors do all of a short group too, since processors would guess a branch on its length
    // wrong.
    const std::size_t end = hn::Lanes(d) >= 8 ? kPackGroup : in_group;
    for (std::size_t i = 0; i < end; i += hn::Lanes(d)) {
      const Vector sums = prefix_sum(d, hn::Add(gaps_from(i), one));
      hn::StoreU(hn::Add(sums, carry), d, c.to + i);
      carry = hn::Add(carry, broadcast_last(d, sums));
    }
  };
  while (HWY_LIKELY(c.at <= limit)) {
    const std::uint8_t* const run = base + c.at;
    const unsigned shape = std::to_integer<unsigned>(*c.shape_at);
    in_group = std::min(c.left, kPackGroup);
    hwy::Prefetch(run + kReadAhead);
    if (HWY_LIKELY(shape <= kFastWidth)) {
      c.at += packed_bytes(in_group, shape);
      sum_group([&](std::size_t i) HWY_ATTR { return unpack_vector(d, run, shape, i); });
    } else {
      const unsigned low = shape & ~kPatched;
      if (low > kFastWidth) break;
      const std::size_t high_at = c.at + packed_bytes(in_group, low) + kPatchHeaderBytes;
      if (high_at > limit) break;
      const PatchHeader patch = patch_header(base + high_at - kPatchHeaderBytes);
      if (low + patch.width > kFastWidth) break;
      c.at = high_at + patch.run_bytes();
      const HighBits high(patch, base + high_at, low);
      sum_group([&](std::size_t i) HWY_ATTR { return hn::Or(unpack_vector(d, run, low, i), high.from(d, i)); });
    }
    ++c.shape_at;
    c.to += in_group;
    c.left -= in_group;
    if (c.left == 0) {
      if (++c.list == c.end) break;
      c.begin_list();
      carry = hn::Set(d, c.previous);
    }
  }
  c.previous = hn::GetLane(carry);
  hn::StoreU(highest, d, highest_ids);
  cursor = c;
}

// Unpacks one group, at `run`, with sums of 64 bits. False if it is wrong.
HWY_NOINLINE bool slow_group(std::span<const std::byte> groups, const std::uint8_t* run, NodeId num_nodes,
                             GroupCursor& c) {
  const Lanes16 d;
  const unsigned shape = std::to_integer<unsigned>(*c.shape_at++);
  const unsigned width = shape & ~kPatched;
  const std::size_t in_group = std::min(c.left, kPackGroup);
  const std::size_t size = packed_bytes(in_group, width);
  if (width > kMaxPackWidth || size > groups.size() - c.at) return false;
  c.at += size;
  GroupValues gaps;
  for (std::size_t i = 0; i < kPackGroup; i += hn::Lanes(d))
    hn::StoreU(unpack_vector(d, run, width, i), d, gaps.data() + i);
  if ((shape & kPatched) != 0 && !apply_patch(groups, c.at, width, gaps)) return false;
  std::uint64_t id = c.previous;
  for (std::size_t i = 0; i < in_group; ++i) {
    id += std::uint64_t{gaps[i]} + 1;
    if (id >= num_nodes) return false;
    c.to[i] = static_cast<NodeId>(id);
  }
  c.previous = static_cast<NodeId>(id);
  c.to += in_group;
  c.left -= in_group;
  if (c.left == 0 && ++c.list != c.end) c.begin_list();
  return true;
}

// Bytes of which kGroupReach may be read from any place up to their end; the last ones are read
// from a copy with zeros behind it. The copy is made late, since the end of a block is seldom in
// cache when its beginning is read.
class PaddedBytes {
 public:
  explicit PaddedBytes(std::span<const std::byte> bytes)
      : data_(reinterpret_cast<const std::uint8_t*>(bytes.data())), size_(bytes.size()) {}
  [[nodiscard]] const std::uint8_t* at(std::size_t offset) {
    if (in_place(offset)) return data_ + offset;
    if (!copied_) copy();
    return tail_.data() + (offset + kGroupReach - size_);
  }
  // The last offset that may be read beside `offset`, from the same place.
  [[nodiscard]] std::size_t limit(std::size_t offset) const { return in_place(offset) ? size_ - kGroupReach : size_; }

 private:
  [[nodiscard]] bool in_place(std::size_t offset) const { return offset + kGroupReach <= size_; }
  void copy() {
    copied_ = true;
    tail_.fill(0);
    const std::size_t copied = std::min(size_, kGroupReach);
    std::copy_n(data_ + size_ - copied, copied, tail_.begin() + static_cast<std::ptrdiff_t>(kGroupReach - copied));
  }
  const std::uint8_t* data_;
  std::size_t size_;
  bool copied_ = false;
  std::array<std::uint8_t, 2 * kGroupReach> tail_;
};

// Unpacks all groups. False if one is wrong, if they do not fill their bytes, or if a list goes on
// after an id that is no node; an id that ends a list is not looked at.
bool unpack_groups(const PackedLists& lists, std::span<const LongList> long_lists, PaddedBytes& bytes) {
  const std::span<const std::byte> groups = lists.bytes.first(lists.groups_end);
  std::array<NodeId, kPackGroup> highest_ids{};
  GroupCursor c(long_lists, lists.bytes.data() + lists.shapes_at, lists.groups_at);
  while (c.list != c.end) {
    if (lists.num_nodes <= kFastNodes) {
      const std::size_t limit = std::min(bytes.limit(c.at), groups.size());
      fast_groups(bytes.at(c.at) - c.at, limit, c, highest_ids.data());
      if (c.list == c.end) break;
      if (c.at > groups.size()) return false;
      if (c.at > limit) continue;
    }
    if (!slow_group(groups, bytes.at(c.at), lists.num_nodes, c)) return false;
  }
  return c.at == groups.size() && *std::max_element(highest_ids.begin(), highest_ids.end()) < lists.num_nodes;
}

// Bit i tells whether list i has ids.
std::uint32_t filled_lists(std::span<const std::uint32_t> counts) {
  const Lanes16 d;
  std::uint32_t filled = 0;
  if (counts.size() == kMaxPackedLists) {
    for (std::size_t i = 0; i < kMaxPackedLists; i += hn::Lanes(d)) {
      std::array<std::uint8_t, 8> bits{};
      hn::StoreMaskBits(d, hn::Ne(hn::LoadU(d, counts.data() + i), hn::Zero(d)), bits.data());
      filled |= (bits[0] | std::uint32_t{bits[1]} << 8) << i;
    }
  } else {
    for (std::size_t i = 0; i < counts.size(); ++i) filled |= std::uint32_t{counts[i] > 0} << i;
  }
  return filled;
}

// Unpacks the first ids of `count` lists. False if one is no node.
bool unpack_firsts(const PackedLists& lists, std::size_t count, PaddedBytes& bytes,
                   std::array<NodeId, kMaxPackedLists>& firsts) {
  const Lanes16 d;
  if (lists.base >= lists.num_nodes) return false;
  Vector highest = hn::Zero(d);
  for (std::size_t group = 0; group < count; group += kPackGroup) {
    const std::uint8_t* const run = bytes.at(lists.firsts_at + packed_bytes(group, lists.first_width));
    for (std::size_t i = 0; i < kPackGroup; i += hn::Lanes(d)) {
      const auto present = hn::FirstN(d, count - std::min(count, group + i));
      const Vector relative = hn::IfThenElseZero(present, unpack_vector(d, run, lists.first_width, i));
      highest = hn::Max(highest, relative);
      hn::StoreU(hn::Add(relative, hn::Set(d, lists.base)), d, firsts.data() + group + i);
    }
  }
  return hn::GetLane(hn::MaxOfLanes(d, highest)) < lists.num_nodes - lists.base;
}

bool unpack_lists(const PackedLists& lists, NodeId* targets) {
  PaddedBytes bytes(lists.bytes);
  const std::uint32_t filled = filled_lists(lists.counts);
  std::array<NodeId, kMaxPackedLists> firsts;
  if (!unpack_firsts(lists, static_cast<std::size_t>(std::popcount(filled)), bytes, firsts)) return false;

  // Calls visit(first, count, to) for each list that is not empty, without a branch that depends on
  // the counts.
  const auto for_each_filled = [&](const auto& visit) HWY_ATTR {
    const NodeId* first = firsts.data();
    NodeId* to = targets;
    for (std::uint32_t rest = filled; rest != 0; rest &= rest - 1) {
      const std::uint32_t count = lists.counts[static_cast<std::size_t>(std::countr_zero(rest))];
      visit(*first++, count, to);
      to += count;
    }
  };
  std::array<LongList, kMaxPackedLists + 1> long_lists;
  std::size_t num_long = 0;
  for_each_filled([&](NodeId first, std::uint32_t count, NodeId* to) {
    long_lists[num_long] = {first, count - 1, to + 1};
    num_long += std::min(count - 1, 1U);
  });
  if (!unpack_groups(lists, std::span(long_lists).first(num_long), bytes)) return false;

  // Groups write beyond the ends of their lists, so the firsts come last.
  NodeId highest = 0;
  for_each_filled([&](NodeId first, std::uint32_t count, NodeId* to) {
    *to = first;
    highest = std::max(highest, to[count - 1]);
  });
  return highest < lists.num_nodes;
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
  if (most < kPatchHeaderBytes + 1) return best;
  // To save a quarter, the values without high bits times the width of those must exceed a quarter
  // of size * width. So more than half of the values have at most 3/4 of the bits, or more than a
  // quarter of them at most half.
  if (2 * values_within(values, size, width - width / 4 - 1) <= size &&
      4 * values_within(values, size, (width - 1) / 2) <= size)
    return best;
  std::array<std::size_t, kMaxPackWidth + 1> of_width{};
  for (const std::uint32_t value : std::span(values).first(size)) ++of_width[std::bit_width(value)];
  std::size_t best_bytes = most + 1;
  std::size_t patched = 0;
  for (unsigned low = width; low > 0;) {
    patched += of_width[low--];
    const std::size_t bytes = packed_bytes(size, low) + kPatchHeaderBytes + packed_bytes(patched, width - low);
    if (bytes >= best_bytes) continue;
    best_bytes = bytes;
    best = {low, width - low};
  }
  return best;
}

// Reads the header of the patch at bytes[at], of a group whose run has `low` bits a value, and
// moves `at` behind the patch; `run_at` becomes the place of its high bits.
bool read_patch(std::span<const std::byte> bytes, std::size_t& at, unsigned low, PatchHeader& patch,
                std::size_t& run_at) noexcept {
  if (bytes.size() < kPatchHeaderBytes || at > bytes.size() - kPatchHeaderBytes) return false;
  patch = patch_header(reinterpret_cast<const std::uint8_t*>(bytes.data()) + at);
  run_at = at + kPatchHeaderBytes;
  if (patch.width + low > kMaxPackWidth || patch.run_bytes() > bytes.size() - run_at) return false;
  at = run_at + patch.run_bytes();
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
  PatchHeader patch;
  std::size_t run_at = 0;
  if (!read_patch(bytes, at, low, patch, run_at)) return false;
  const std::span<const std::byte> run = bytes.subspan(run_at);
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
  PatchHeader patch;
  std::size_t run_at = 0;
  return (shape & kPatched) == 0 || read_patch(bytes, at, low, patch, run_at);
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
