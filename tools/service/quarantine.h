// tools/service/quarantine.h - where lines go that are no requests, so that the others need not
// wait for somebody to mend them.
#pragma once

#include <filesystem>
#include <mutex>
#include <span>
#include <string>

#include "storage/io/file.h"

namespace unweave {

struct BadLine {
  std::string text;
  std::string reason;
};

/// A file, for its owner alone, of a line for each: time, text and reason, tabs between. Text and
/// reason are as printable() has them, of the text 4096 bytes. At 64 MiB nothing is added any more,
/// since whoever may call could fill the disk with what is no request.
class Quarantine {
 public:
  /// Opens the file or makes it; an empty path: nothing is kept. Throws DataError.
  explicit Quarantine(const std::filesystem::path& file);
  /// Durable on return. Any thread.
  void add(std::span<const BadLine> lines);

 private:
  std::mutex mutex_;
  File file_;
};

}  // namespace unweave
