// tests/support/faults/shared_log.h - what calls did, in memory that parent and child processes
// share: it outlives a child.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace unweave::testing {

/// What one successful call did to the disk, or a remark of the program under test. Paths are
/// relative to the folder.
struct Operation {
  enum class Kind : std::uint8_t { create, folder, write, resize, sync, lost_sync, rename, remove, acknowledge };
  Kind kind = Kind::create;
  std::string path;          ///< or the text of a remark
  std::string other;         ///< rename: the new name
  std::uint64_t offset = 0;  ///< write: where; resize: the new length
  std::string bytes;         ///< write
};
[[nodiscard]] std::string text_of(const Operation& operation);

/// The only one of a process and its children. Writing to it allocates nothing, and one thread does
/// so at a time; counting may go on at once.
class SharedLog {
 public:
  static SharedLog& get();
  SharedLog(const SharedLog&) = delete;
  SharedLog& operator=(const SharedLog&) = delete;

  void clear();
  void add(Operation::Kind kind, const char* path, const char* other = "", std::uint64_t offset = 0,
           const void* bytes = nullptr, std::size_t size = 0);
  /// Notes an allocation of this number unless there was one with the same stack, of which this is
  /// a hash.
  void add_allocation(std::uint64_t stack, long number);
  /// The number of a call.
  long count() { return ++counted_; }
  /// A message of at most 64 KiB.
  void put_text(std::string_view text);

  [[nodiscard]] std::vector<Operation> operations() const;
  [[nodiscard]] std::vector<long> allocations() const { return {first_at_, first_at_ + places_}; }
  [[nodiscard]] long counted() const { return counted_; }
  [[nodiscard]] std::string text() const { return {text_, text_bytes_}; }

 private:
  SharedLog() = default;
  static constexpr std::size_t kRecordBytes = std::size_t{512} << 20;  // touched only as far as it is filled
  static constexpr std::size_t kTextBytes = std::size_t{64} << 10;
  static constexpr std::size_t kMostPlaces = std::size_t{64} << 10;

  std::size_t used_;
  std::atomic<long> counted_;
  std::size_t text_bytes_;
  std::size_t places_;
  long first_at_[kMostPlaces];
  std::uint64_t stacks_[kMostPlaces];
  char text_[kTextBytes];
  char records_[kRecordBytes];
};

}  // namespace unweave::testing
