// storage/formats/model_file.h - a learnt model at rest: one text and arrays of doubles (FORMAT.md,
// "Models and certificates").
//
// Unlike the other files of a store a model is replaced in place, atomically: it has one checksum
// over everything, and the manifest records it at a clean close.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace unweave {

struct ModelFile {
  std::string text;                         ///< JSON; its meaning is not this layer's business
  std::vector<std::vector<double>> arrays;  ///< at most kMostModelArrays
};

inline constexpr std::size_t kMostModelArrays = 64;

/// Replaces `path`, whose folder is made when it is missing. A crash leaves the old or the new
/// file; durable on return.
void write_model_file(const std::filesystem::path& path, const ModelFile& model);

/// Throws DataError when it is missing, FormatError when any byte differs from what was written.
[[nodiscard]] ModelFile read_model_file(const std::filesystem::path& path);

}  // namespace unweave
