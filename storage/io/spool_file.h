// storage/io/spool_file.h - a temporary file without a name: append, then read anywhere; gone when
// closed or killed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

namespace unweave {

/// Move-only owner of the file. Appends and reads may run on several threads at once. Errors:
/// ResourceError (full disk), DataError (folder missing or not writable), naming the folder.
class SpoolFile {
 public:
  static constexpr std::string_view kPrefix = "unweave-spool-";  ///< how its name begins

  /// Creates the file in the folder `directory` and unlinks it at once, so that hardly a crash
  /// leaves anything behind.
  explicit SpoolFile(const std::filesystem::path& directory);
  ~SpoolFile();
  SpoolFile(SpoolFile&& other) noexcept;
  SpoolFile& operator=(SpoolFile&& other) noexcept;

  /// Returns the offset at which the bytes lie.
  std::uint64_t append(std::span<const char> bytes);
  /// Fills `out` from byte `offset`; the caller stays within what append() calls have written.
  void read(std::uint64_t offset, std::span<char> out) const;
  /// Lets the kernel read these bytes into its cache ahead of read(), without waiting.
  void will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// Lets the kernel drop what it has cached of the file, as far as it lies on the disk.
  void forget() const noexcept;
  [[nodiscard]] std::uint64_t size() const noexcept { return size_.load(); }

 private:
  friend class MappedSpool;
  void write(std::uint64_t offset, std::span<const char> bytes);

  std::filesystem::path name_;
  int descriptor_ = -1;
  std::atomic<std::uint64_t> size_ = 0;
};

/// Such a file that is read through a mapping. Move-only. Its pages are the kernel's to drop; only
/// bytes that write() has put there may be read. Writes of different bytes may run at once. Errors
/// as above; where the disk does not give a page back, require_whole_maps() tells it.
class MappedSpool {
 public:
  /// `most` bytes at most; takes address space for them, and no disk before they are written.
  MappedSpool(const std::filesystem::path& directory, std::uint64_t most);
  ~MappedSpool();
  MappedSpool(MappedSpool&& other) noexcept;
  MappedSpool& operator=(MappedSpool&& other) noexcept;

  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  template <class T>
  [[nodiscard]] const T* as() const noexcept {
    return static_cast<const T*>(address_);
  }

 private:
  SpoolFile file_;
  void* address_ = nullptr;
  std::uint64_t most_ = 0;
};

}  // namespace unweave
