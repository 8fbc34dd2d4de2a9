// storage/formats/sealed_image.h - one sealed file written by many threads in any order, byte for
// byte what a SealedWriter would have written front to back.
//
// Whole chunks are summed in the caches of the thread that brings them and go on to the segments of
// a ScatteredWriter; what cuts a chunk waits in a buffer for its other parts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "storage/formats/sealed_file.h"
#include "storage/io/scattered_writer.h"

namespace unweave {

class SealedImage {
 public:
  /// The queue must outlive this object.
  SealedImage(SealedName name, std::uint64_t expected_bytes, WriteBehind& queue);
  /// Removes a file that was not published.
  ~SealedImage();
  SealedImage(const SealedImage&) = delete;
  SealedImage& operator=(const SealedImage&) = delete;

  /// Bytes of the payload from `offset` on: each byte of it once, from any thread. Throws what
  /// writing threw.
  void put(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Hands the rest of the file to the queue, after all puts.
  void finish(std::uint64_t payload_bytes, const SealedParameters& parameters);
  /// Gives the file its name, after finish() and after the queue was drained. It is not yet
  /// durable: see sync_files().
  FileEntry publish();
  /// Whether the queue has done with the file, or failed, which it tells; after finish().
  [[nodiscard]] bool is_written() const noexcept { return out_ == nullptr && written_.expired(); }
  /// Makes the file durable, after is_written(), and only then gives it this name in its folder, in
  /// the place of another file of the same contents.
  void publish_as(const std::filesystem::path& path);

 private:
  struct Chunk {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t filled = 0;
  };
  /// Whole chunks (at the end of the payload a part of one) from the chunk `index` on.
  void complete(std::uint64_t index, std::span<const std::byte> bytes);

  SealedName name_;
  std::filesystem::path temporary_;
  FileEntry entry_;
  std::unique_ptr<ScatteredWriter> out_;
  std::weak_ptr<const File> written_;  ///< lives until the queue has written the last part
  std::mutex mutex_;                   ///< guards all below
  std::map<std::uint64_t, Chunk> open_;
  std::vector<std::unique_ptr<std::byte[]>> spare_;
  std::vector<std::uint64_t> table_;  ///< until finish(); charged to no budget, see SealedWriter
};

}  // namespace unweave
