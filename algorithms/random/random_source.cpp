// algorithms/random/random_source.cpp - libsodium's ChaCha20 as a stream of words.
#include "algorithms/random/random_source.h"

#include <sodium.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "algorithms/random/normal_lanes.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

void start_library() {
  if (sodium_init() < 0)
    throw ResourceError("libsodium cannot start, so there is no safe randomness; check the system");
}

}  // namespace

RandomSource RandomSource::from_system() {
  start_library();
  Key key;
  randombytes_buf(key.data(), key.size());
  return RandomSource(key);
}

RandomSource RandomSource::from_seed(std::uint64_t seed, std::uint64_t stream) {
  start_library();
  Key key;
  std::array<unsigned char, 24> text{'u', 'n', 'w', 'e', 'a', 'v', 'e', 0};
  for (std::size_t i = 0; i < 8; ++i) {
    text[8 + i] = static_cast<unsigned char>(seed >> (8 * i));
    text[16 + i] = static_cast<unsigned char>(stream >> (8 * i));
  }
  crypto_generichash(key.data(), key.size(), text.data(), text.size(), nullptr, 0);
  return RandomSource(key);
}

RandomSource::RandomSource(Key& key) : key_(key) {
  wipe(key.data(), key.size());
}

RandomSource::~RandomSource() {
  wipe(key_.data(), key_.size());
  wipe(buffer_.data(), buffer_.size());
  wipe(&coins_, sizeof coins_);
}

void RandomSource::refill() {
  constexpr std::array<unsigned char, crypto_stream_chacha20_NONCEBYTES> kNonce{};
  buffer_.fill(0);
  crypto_stream_chacha20_xor_ic(buffer_.data(), buffer_.data(), buffer_.size(), kNonce.data(), block_, key_.data());
  block_ += kBufferBytes / 64;
  used_ = 0;
}

bool RandomSource::coin() {
  if (coins_left_ == 0) {
    coins_ = bits();
    coins_left_ = 64;
  }
  const bool heads = (coins_ & 1) != 0;
  coins_ >>= 1;
  --coins_left_;
  return heads;
}

Wide RandomSource::below(Wide bound) {
  const Wide last = bound - 1;
  const auto high = static_cast<std::uint64_t>(last >> 64);
  const std::uint64_t low = static_cast<std::uint64_t>(last);
  const auto mask_of = [](std::uint64_t x) { return x == 0 ? 0 : ~std::uint64_t{0} >> __builtin_clzll(x); };
  const std::uint64_t high_mask = mask_of(high);
  const std::uint64_t low_mask = high == 0 ? mask_of(low) : ~std::uint64_t{0};
  for (;;) {
    Wide value = bits() & low_mask;
    if (high != 0) value |= static_cast<Wide>(bits() & high_mask) << 64;
    if (value <= last) return value;
  }
}

namespace {

/// A uniform number above 0, 2^-65 at least: the radius of a normal pair then reaches 9.49.
double radius_of(std::uint64_t bits) {
  return (static_cast<double>(bits) + 0.5) * 0x1p-64;
}

}  // namespace

double RandomSource::gaussian() {
  const double radius = radius_of(bits());
  const double angle = static_cast<double>(bits() >> 11) * 0x1p-53;
  return std::sqrt(-2 * std::log(radius)) * std::cos(2 * std::numbers::pi * angle);
}

void RandomSource::gaussians(std::span<double> out) {
  constexpr std::size_t kPairs = 256;
  std::array<double, kPairs> first, second;
  while (!out.empty()) {
    const std::size_t pairs = std::min(kPairs, (out.size() + 1) / 2);
    for (std::size_t i = 0; i < pairs; ++i) {
      first[i] = radius_of(bits());
      second[i] = static_cast<double>(bits() >> 11) * 0x1p-53;
    }
    normals_from_uniforms(first.data(), second.data(), pairs);
    const std::size_t rest = std::min(pairs, out.size() - pairs);
    std::copy_n(first.begin(), pairs, out.begin());
    std::copy_n(second.begin(), rest, out.begin() + static_cast<std::ptrdiff_t>(pairs));
    out = out.subspan(pairs + rest);
  }
  wipe(first.data(), sizeof first);
  wipe(second.data(), sizeof second);
}

void wipe(void* data, std::size_t bytes) noexcept {
  sodium_memzero(data, bytes);
}

}  // namespace unweave
