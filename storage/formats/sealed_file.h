// storage/formats/sealed_file.h - the container of every immutable file of a store (FORMAT.md,
// "Sealed files").
//
//   [0, 128)   header: magic, kind, version, chunk size, payload length, six parameters, root,
//              checksum of the header
//   payload    any bytes, from offset 128
//   table      one XXH3-64 for each chunk of the payload, after padding to 8 bytes
//
// A chunk is what lies on one page of 4 KiB of the file: whoever reads one row from a disk reads
// its page and no more. The root is an XXH3-128 over header and table; the file's name and the
// manifest carry it. Opening checks header, length, table and root; a payload chunk is checked when
// it is first used. Files are written under a temporary name, never changed after, and mapped
// read-only.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/io/checksum.h"
#include "storage/io/file.h"
#include "storage/io/stream_writer.h"
#include "storage/types/file_entry.h"

namespace unweave {

using SealedParameters = std::array<std::uint64_t, 6>;

inline constexpr std::size_t kSealedHeaderBytes = 128;
/// Bytes of a chunk of the file. The first chunk holds less payload, since the header is in it.
inline constexpr std::size_t kSealedChunkBytes = std::size_t{1} << 12;

/// The chunk that holds a byte of the payload.
[[nodiscard]] constexpr std::uint64_t sealed_chunk(std::uint64_t offset) noexcept {
  return (kSealedHeaderBytes + offset) / kSealedChunkBytes;
}
/// Where in the payload a chunk begins.
[[nodiscard]] constexpr std::uint64_t sealed_chunk_begin(std::uint64_t chunk) noexcept {
  return chunk == 0 ? 0 : chunk * kSealedChunkBytes - kSealedHeaderBytes;
}

/// Where a sealed file lies in a store and what it is: it will be
/// `folder`/`stem`-<hash>.`extension`; `kind` has at most 8 characters.
struct SealedName {
  std::filesystem::path store;
  std::string folder, stem, extension, kind;

  /// The new file under its temporary name; its folder is made, and what a killed writer left there
  /// is removed.
  [[nodiscard]] std::filesystem::path make_temporary() const;
};

/// The bytes before a payload, and what the manifest will say of the file.
struct SealedHeader {
  std::array<std::byte, kSealedHeaderBytes> bytes{};
  FileEntry entry;
};

/// The header of a payload of so many bytes with these checksums of its chunks.
[[nodiscard]] SealedHeader seal(const SealedName& name, std::uint64_t payload_bytes, const SealedParameters& parameters,
                                std::span<const std::uint64_t> table);
/// Where the table begins: after header, payload and padding.
[[nodiscard]] constexpr std::uint64_t sealed_table_offset(std::uint64_t payload_bytes) noexcept {
  return kSealedHeaderBytes + (payload_bytes + 7) / 8 * 8;
}
/// Chunks that hold a payload of so many bytes.
[[nodiscard]] constexpr std::uint64_t sealed_chunks(std::uint64_t payload_bytes) noexcept {
  return payload_bytes == 0 ? 0 : sealed_chunk(payload_bytes - 1) + 1;
}
/// Length of the whole file.
[[nodiscard]] constexpr std::uint64_t sealed_file_bytes(std::uint64_t payload_bytes) noexcept {
  return sealed_table_offset(payload_bytes) + sizeof(std::uint64_t) * sealed_chunks(payload_bytes);
}
/// What a manifest would say of the sealed file `path`, relative to `store`, that none names: its
/// length, and the root that its header tells. Throws DataError; FormatError where that is no
/// header.
[[nodiscard]] FileEntry sealed_entry(const std::filesystem::path& store, const std::string& path);
/// Gives a complete file its final name. A file of that name has the same content and may be what a
/// manifest counts on: it is replaced only by one that is as durable.
void publish_sealed(const SealedName& name, const std::filesystem::path& temporary, const FileEntry& entry);

/// Writes one sealed file front to back. Not for concurrent use. A writer that is destroyed before
/// finish() removes its temporary file. It holds the table, a 512th of the payload, which no memory
/// budget is charged for: few files are written at a time, and large ones are those of one span.
class SealedWriter {
 public:
  explicit SealedWriter(SealedName name);
  SealedWriter(SealedWriter&&) noexcept = default;
  SealedWriter& operator=(SealedWriter&&) noexcept = default;
  ~SealedWriter();

  void append(std::span<const std::byte> bytes);
  template <class T>
  void append_values(std::span<const T> values) {
    append(std::as_bytes(values));
  }
  /// Pads the payload with zeros to a multiple of `alignment` bytes.
  void align(std::size_t alignment);
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Completes the file under its final name. It is not yet durable: commit with sync_files().
  FileEntry finish(const SealedParameters& parameters);

 private:
  SealedName name_;
  StreamWriter out_;
  std::vector<std::byte> chunk_;  ///< the beginning of a chunk that is not complete yet
  std::vector<std::uint64_t> table_;
  std::uint64_t size_ = 0;
};

/// Makes finished files durable: each file's data, then the folders that name them.
void sync_files(const std::filesystem::path& store, std::span<const FileEntry> files);

/// Whether bytes are read through the page cache, or past it where the file system can: then the
/// caller waits for the disk, and pieces should not be small.
enum class PageCache { used, passed };

/// Memory for bytes of a sealed file that come past the page cache.
class DirectPiece {
 public:
  /// For so many bytes at a time.
  explicit DirectPiece(std::size_t bytes);
  [[nodiscard]] static std::uint64_t memory_bytes(std::size_t bytes) noexcept;
  [[nodiscard]] std::byte* get() noexcept { return memory_.get(); }

 private:
  struct Free {
    void operator()(std::byte* bytes) const noexcept { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> memory_;
};

/// A mapped sealed file. Const members may run on any number of threads at once.
class SealedFile {
 public:
  /// Maps and checks all but the payload. Throws DataError, FormatError when the file is not the
  /// one the entry means.
  SealedFile(const std::filesystem::path& store, const FileEntry& entry, std::string_view kind);
  SealedFile(SealedFile&& other) noexcept;
  SealedFile& operator=(SealedFile&&) = delete;
  ~SealedFile();

  [[nodiscard]] const SealedParameters& parameters() const noexcept { return parameters_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }  ///< bytes of the payload
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// Payload bytes [offset, offset + length), their chunks checked. Throws FormatError for a
  /// damaged chunk or a range outside the payload.
  [[nodiscard]] std::span<const std::byte> bytes(std::uint64_t offset, std::uint64_t length) const;
  template <class T>
  [[nodiscard]] std::span<const T> values(std::uint64_t offset, std::uint64_t count) const {
    if (count > size_ / sizeof(T)) fail(offset, "more values than the file can hold");
    const auto raw = bytes(offset, count * sizeof(T));
    return {reinterpret_cast<const T*>(raw.data()), static_cast<std::size_t>(count)};
  }
  /// Lets the system read payload bytes [offset, offset + length) in the background, side by side
  /// with others that were asked for: they will be used soon. Who goes through a file for the first
  /// time in order need not ask; any other page that was not asked for is a wait for the disk, one
  /// after the other.
  void read_ahead(std::uint64_t offset, std::uint64_t length) const noexcept;
  /// Lets the system drop what it holds of payload bytes [offset, offset + length): whoever scans
  /// more than memory holds would else push out what is read ahead. The bytes may be read again.
  void forget(std::uint64_t offset, std::uint64_t length) const noexcept;
  /// Payload bytes without a check, for loops that called check() on the range before.
  [[nodiscard]] const std::byte* data() const noexcept { return map_ + kSealedHeaderBytes; }
  void check(std::uint64_t offset, std::uint64_t length) const;
  /// Whether the chunks of payload bytes [offset, offset + length) were checked since the file was
  /// mapped.
  [[nodiscard]] bool is_checked(std::uint64_t offset, std::uint64_t length) const noexcept;
  /// The bytes of a chunk that came another way than by the map, such as past the page cache.
  /// Throws FormatError where they are damaged.
  void check_read(std::uint64_t chunk, const std::byte* bytes) const;
  /// Payload bytes [offset, offset + length), read and checked past the page cache by `direct`,
  /// which is this file: they lie in the piece until the next call. Throws as bytes() does.
  [[nodiscard]] std::span<const std::byte> read_past(const File& direct, std::uint64_t offset, std::uint64_t length,
                                                     DirectPiece& piece) const;
  /// Checks every chunk that was not checked since the file was mapped; for `verify`.
  void check_all() const;
  /// Throws FormatError at this payload offset.
  [[noreturn]] void fail(std::uint64_t offset, std::string_view what) const;

 private:
  static constexpr std::uint64_t kStepChunks = 16;    ///< in order, after which the next ones are asked for
  static constexpr std::uint64_t kAheadChunks = 256;  ///< 1 MiB
  void check_chunk(std::uint64_t chunk) const;
  [[nodiscard]] bool is_checked(std::uint64_t chunk) const noexcept;
  void ask_chunks(std::uint64_t chunk, std::uint64_t count) const noexcept;
  /// Lets the system read bytes [first, last) of the file in the background.
  void ask(std::uint64_t first, std::uint64_t last) const noexcept;
  std::filesystem::path path_;
  const std::byte* map_ = nullptr;
  std::uint64_t map_bytes_ = 0;
  std::uint64_t size_ = 0;
  SealedParameters parameters_{};
  const std::byte* table_ = nullptr;
  mutable std::unique_ptr<std::atomic<std::uint64_t>[]> checked_;
};

}  // namespace unweave
