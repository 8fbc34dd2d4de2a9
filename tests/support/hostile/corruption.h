// tests/support/hostile/corruption.h - ways to damage a store, or to forge parts of it with
// checksums that are right.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "support/hostile/full_store.h"

namespace unweave::testing {

struct Corruption {
  std::string what;                                                ///< for messages
  std::string path;                                                ///< the file that is not as it was
  std::map<std::string, std::optional<std::string>> files;         ///< what lies there now; nothing: the file is gone
  std::function<void(const std::filesystem::path& store)> change;  ///< or what is done to the store
  bool forged = false;  ///< checksums are right: the store may be another one, but never dangerous
};

/// Bytes of all files, and lengths below theirs: what flipped() and cut() count.
[[nodiscard]] std::uint64_t total_bytes(const Files& files);
/// One bit of the n-th byte of all flipped.
[[nodiscard]] Corruption flipped(const Files& files, std::uint64_t n);
/// The file that holds the n-th byte of all ends before it.
[[nodiscard]] Corruption cut(const Files& files, std::uint64_t n);
/// Anything that changes bytes: several of them, ranges zeroed, doubled, moved or left out,
/// garbage, files exchanged with each other or with those of another store of the same shape,
/// missing ones, folders, pipes and links in their place.
[[nodiscard]] Corruption random_corruption(const FullStore& store, std::uint64_t seed);
/// Numbers and names changed, to absurd ones more often than not, and every checksum above them
/// made anew.
[[nodiscard]] Corruption forgery(const FullStore& store, std::uint64_t seed);

}  // namespace unweave::testing
