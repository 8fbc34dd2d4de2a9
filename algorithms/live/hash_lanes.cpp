// algorithms/live/hash_lanes.cpp - BLAKE2b by vectors. Highway includes this file once for every
// extension.
#include "algorithms/live/hash_lanes.h"

#include <algorithm>
#include <array>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/live/hash_lanes.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
// Not sorted: the targets come first.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kStateWords = 8, kBlockWords = 16, kMostLanes = 8;
constexpr std::array<std::uint64_t, kStateWords> kStart{0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B,
                                                        0xA54FF53A5F1D36F1, 0x510E527FADE682D1, 0x9B05688C2B3E6C1F,
                                                        0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179};
constexpr std::uint64_t kParameters = 0x01010000 + sizeof(Digest);  // no key, one leaf
/// Which word of a block each step of a round takes. Rounds 10 and 11 are 0 and 1 again.
constexpr std::uint8_t kWordOrder[10][kBlockWords] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

using Lanes = hn::CappedTag<std::uint64_t, kMostLanes>;
using Vector = hn::Vec<Lanes>;

HWY_INLINE void mix(Vector& a, Vector& b, Vector& c, Vector& d, Vector x, Vector y) {
  a = hn::Add(hn::Add(a, b), x);
  d = hn::RotateRight<32>(hn::Xor(d, a));
  c = hn::Add(c, d);
  b = hn::RotateRight<24>(hn::Xor(b, c));
  a = hn::Add(hn::Add(a, b), y);
  d = hn::RotateRight<16>(hn::Xor(d, a));
  c = hn::Add(c, d);
  b = hn::RotateRight<63>(hn::Xor(b, c));
}

/// The word of each lane's block that step `kStep` of a round takes.
template <std::size_t kRound, std::size_t kStep>
HWY_INLINE Vector word(Lanes d, const std::uint64_t* HWY_RESTRICT words) {
  return hn::Load(d, words + kWordOrder[kRound % 10][kStep] * hn::Lanes(d));
}

/// All of the rounds from `kRound` on.
template <std::size_t kRound>
HWY_INLINE void mix_rounds(Lanes d, const std::uint64_t* HWY_RESTRICT words, Vector& v0, Vector& v1, Vector& v2,
                           Vector& v3, Vector& v4, Vector& v5, Vector& v6, Vector& v7, Vector& v8, Vector& v9,
                           Vector& v10, Vector& v11, Vector& v12, Vector& v13, Vector& v14, Vector& v15) {
  mix(v0, v4, v8, v12, word<kRound, 0>(d, words), word<kRound, 1>(d, words));
  mix(v1, v5, v9, v13, word<kRound, 2>(d, words), word<kRound, 3>(d, words));
  mix(v2, v6, v10, v14, word<kRound, 4>(d, words), word<kRound, 5>(d, words));
  mix(v3, v7, v11, v15, word<kRound, 6>(d, words), word<kRound, 7>(d, words));
  mix(v0, v5, v10, v15, word<kRound, 8>(d, words), word<kRound, 9>(d, words));
  mix(v1, v6, v11, v12, word<kRound, 10>(d, words), word<kRound, 11>(d, words));
  mix(v2, v7, v8, v13, word<kRound, 12>(d, words), word<kRound, 13>(d, words));
  mix(v3, v4, v9, v14, word<kRound, 14>(d, words), word<kRound, 15>(d, words));
  if constexpr (kRound + 1 < 12)
    mix_rounds<kRound + 1>(d, words, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15);
}

/// Takes one block of each lane into its state. Word w of a lane stands at w * lanes + lane.
HWY_INLINE void take_blocks(Lanes d, const std::uint64_t* HWY_RESTRICT words, const std::uint64_t* HWY_RESTRICT taken,
                            const std::uint64_t* HWY_RESTRICT is_last, std::uint64_t* HWY_RESTRICT state) {
  const std::size_t n = hn::Lanes(d);
  Vector v0 = hn::Load(d, state), v1 = hn::Load(d, state + n), v2 = hn::Load(d, state + 2 * n);
  Vector v3 = hn::Load(d, state + 3 * n), v4 = hn::Load(d, state + 4 * n), v5 = hn::Load(d, state + 5 * n);
  Vector v6 = hn::Load(d, state + 6 * n), v7 = hn::Load(d, state + 7 * n);
  Vector v8 = hn::Set(d, kStart[0]), v9 = hn::Set(d, kStart[1]), v10 = hn::Set(d, kStart[2]);
  Vector v11 = hn::Set(d, kStart[3]), v12 = hn::Xor(hn::Set(d, kStart[4]), hn::Load(d, taken));
  Vector v13 = hn::Set(d, kStart[5]), v14 = hn::Xor(hn::Set(d, kStart[6]), hn::Load(d, is_last));
  Vector v15 = hn::Set(d, kStart[7]);
  mix_rounds<0>(d, words, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15);
  hn::Store(hn::Xor(hn::Load(d, state), hn::Xor(v0, v8)), d, state);
  hn::Store(hn::Xor(hn::Load(d, state + n), hn::Xor(v1, v9)), d, state + n);
  hn::Store(hn::Xor(hn::Load(d, state + 2 * n), hn::Xor(v2, v10)), d, state + 2 * n);
  hn::Store(hn::Xor(hn::Load(d, state + 3 * n), hn::Xor(v3, v11)), d, state + 3 * n);
  hn::Store(hn::Xor(hn::Load(d, state + 4 * n), hn::Xor(v4, v12)), d, state + 4 * n);
  hn::Store(hn::Xor(hn::Load(d, state + 5 * n), hn::Xor(v5, v13)), d, state + 5 * n);
  hn::Store(hn::Xor(hn::Load(d, state + 6 * n), hn::Xor(v6, v14)), d, state + 6 * n);
  hn::Store(hn::Xor(hn::Load(d, state + 7 * n), hn::Xor(v7, v15)), d, state + 7 * n);
}

void HashSideBySide(const std::byte* HWY_RESTRICT buffer, const HashedMessage* messages, std::size_t count) {
  const Lanes d;
  const std::size_t lanes = hn::Lanes(d);
  // Lanes without a message compute what nobody reads.
  HWY_ALIGN std::uint64_t state[kStateWords * kMostLanes] = {}, words[kBlockWords * kMostLanes] = {};
  HWY_ALIGN std::uint64_t taken[kMostLanes] = {}, is_last[kMostLanes] = {};
  const HashedMessage* of_lane[kMostLanes] = {};
  for (std::size_t next = 0, done = 0; done < count;) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (of_lane[lane] == nullptr) {
        if (next == count) continue;
        of_lane[lane] = messages + next++;
        for (std::size_t i = 0; i < kStateWords; ++i) state[i * lanes + lane] = kStart[i];
        state[lane] ^= kParameters;
        taken[lane] = 0;
      }
      const HashedMessage& message = *of_lane[lane];
      const std::byte* const block = buffer + message.first + taken[lane];
      for (std::size_t i = 0; i < kBlockWords; ++i)
        std::memcpy(&words[i * lanes + lane], block + i * sizeof(std::uint64_t), sizeof(std::uint64_t));
      taken[lane] = std::min(taken[lane] + kHashBlockBytes, message.bytes);
      is_last[lane] = taken[lane] == message.bytes ? ~std::uint64_t{0} : 0;
    }
    take_blocks(d, words, taken, is_last, state);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (of_lane[lane] == nullptr || is_last[lane] == 0) continue;
      std::byte* const hash = of_lane[lane]->hash->data();
      for (std::size_t i = 0; i < sizeof(Digest) / sizeof(std::uint64_t); ++i)
        std::memcpy(hash + i * sizeof(std::uint64_t), &state[i * lanes + lane], sizeof(std::uint64_t));
      of_lane[lane] = nullptr;
      ++done;
    }
  }
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unweave {

HWY_EXPORT(HashSideBySide);

void hash_side_by_side(std::span<const std::byte> buffer, std::span<const HashedMessage> messages) {
  HWY_DYNAMIC_DISPATCH(HashSideBySide)(buffer.data(), messages.data(), messages.size());
}

}  // namespace unweave
#endif
