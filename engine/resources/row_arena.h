// engine/resources/row_arena.h - memory for rows of one size that come one by one and stay. It has
// large pages, because random rows of many MiB in small pages would miss the TLB at every access.
//
// take(), give() and bytes() may be called from any thread.
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
  explicit RowArena(std::size_t row_bytes) noexcept;
  /// Room for one row, its values arbitrary; aligned as the size of a row allows, to 8 bytes at
  /// most. Throws std::bad_alloc.
  [[nodiscard]] std::byte* take();
  /// Takes a row back.
  void give(std::byte* row);
  /// Takes all rows back and frees their memory.
  void clear() noexcept;
  /// Memory that the process has for the rows, those taken back included.
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  void grow();
  std::size_t row_bytes_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<std::byte, Free>> chunks_;
  std::uint64_t bytes_ = 0;    ///< bytes of the chunks
  std::byte* next_ = nullptr;  ///< where the last chunk was not handed out yet
  std::byte* end_ = nullptr;
  std::byte* returned_ = nullptr;  ///< a row given back, which holds the address of another
};

}  // namespace unweave
