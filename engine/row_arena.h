// engine/row_arena.h - memory for rows that come one by one and stay: large pages, because random rows of many MiB in
// small ones would miss the TLB at every access.
//
// take() and give() may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

namespace unweave {

class RowArena {
 public:
  explicit RowArena(std::uint32_t columns) noexcept : columns_(columns) {}
  /// Room for one row, its values arbitrary. Throws std::bad_alloc.
  [[nodiscard]] std::int32_t* take();
  /// Takes a row back.
  void give(std::int32_t* row);
  /// Takes all rows back and frees their memory.
  void clear() noexcept;

 private:
  struct Free {
    void operator()(std::int32_t* memory) const noexcept { std::free(memory); }
  };
  void grow();
  std::uint32_t columns_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<std::int32_t, Free>> chunks_;
  std::size_t chunk_rows_ = 0;
  std::size_t used_ = 0;             ///< rows of the last chunk that were handed out
  std::vector<std::int32_t*> free_;  ///< rows given back
};

}  // namespace unweave
