// algorithms/random/random_source.h - random bits of cryptographic quality: ChaCha20 keyed by the
// system, or by a seed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace unweave {

__extension__ typedef unsigned __int128 Wide;  ///< 128 bits, for exact rational coins

/// A stream of independent uniform bits. Key and buffer are wiped on destruction. Not thread-safe,
/// not copyable.
class RandomSource {
 public:
  /// Fresh key from the operating system. Throws ResourceError when the library cannot start.
  static RandomSource from_system();
  /// Reproducible: equal (seed, stream) give equal bits, other streams independent ones. For tests,
  /// and for estimates whose theorem wants a random start; noise that anybody could make again
  /// would hide nothing.
  static RandomSource from_seed(std::uint64_t seed, std::uint64_t stream);

  RandomSource(const RandomSource&) = delete;
  RandomSource& operator=(const RandomSource&) = delete;
  ~RandomSource();

  [[nodiscard]] std::uint64_t bits() { return take<std::uint64_t>(); }
  [[nodiscard]] std::uint32_t bits32() { return take<std::uint32_t>(); }
  [[nodiscard]] bool coin();
  /// Uniform in [0, bound), exact by rejection. bound >= 1.
  [[nodiscard]] Wide below(Wide bound);
  /// Standard normal in float64 (Box and Muller): for noise in an objective, not for certified
  /// output noise.
  [[nodiscard]] double gaussian();
  /// Fills `out` with independent ones, many at a time.
  void gaussians(std::span<double> out);

 private:
  static constexpr std::size_t kKeyBytes = 32, kBufferBytes = 4096;
  using Key = std::array<unsigned char, kKeyBytes>;
  explicit RandomSource(Key& key);  // takes the key and wipes the argument
  void refill();
  /// The next bytes, which are wiped behind it.
  template <class Word>
  [[nodiscard]] Word take() {
    if (kBufferBytes - used_ < sizeof(Word)) refill();
    Word word = 0;
    std::memcpy(&word, buffer_.data() + used_, sizeof word);
    std::memset(buffer_.data() + used_, 0, sizeof word);
    used_ += sizeof word;
    return word;
  }

  Key key_;
  std::array<unsigned char, kBufferBytes> buffer_{};
  std::size_t used_ = kBufferBytes;
  std::uint64_t block_ = 0;  // ChaCha20 blocks of 64 bytes consumed
  std::uint64_t coins_ = 0;
  int coins_left_ = 0;
};

/// Overwrites memory that held a secret, in a way the compiler keeps.
void wipe(void* data, std::size_t bytes) noexcept;

}  // namespace unweave
