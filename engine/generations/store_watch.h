// engine/generations/store_watch.h - a reader that finds files missing asks whether a writer has
// replaced the generation meanwhile.
#pragma once

#include <filesystem>
#include <string>

#include "storage/io/error.h"

namespace unweave {

/// Remembers the manifest of a store as it is when this is made.
class StoreWatch {
 public:
  static constexpr int kAttempts = 8;  ///< how often a reader begins, each time with what is there then

  explicit StoreWatch(std::filesystem::path store);
  /// Whether another manifest is there now. What seemed damaged or missing may then be files that
  /// its writer removed.
  [[nodiscard]] bool was_written() const;
  /// What to say after kAttempts. Throws ResourceError.
  [[noreturn]] void refuse() const;

 private:
  std::filesystem::path store_;
  std::string manifest_;
};

/// What `work` returns. Where it finds damage, and the store was written meanwhile, it begins
/// again, up to StoreWatch::kAttempts times, and as long as `may_repeat` is true, which it is not
/// once something was told; then throws ResourceError.
template <class Work>
auto read_unwritten(const std::filesystem::path& store, const Work& work, const bool& may_repeat = true) {
  for (int attempt = 1;; ++attempt) {
    const StoreWatch watch(store);
    try {
      return work();
    } catch (const DataError&) {
      if (!watch.was_written()) throw;
      if (!may_repeat || attempt == StoreWatch::kAttempts) watch.refuse();
    }
  }
}

}  // namespace unweave
