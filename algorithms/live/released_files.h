// algorithms/live/released_files.h - the files of a model's release, and what a manifest records of
// them. The store knows them by their paths and lengths alone.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

namespace unweave {

struct Manifest;

/// A log of certificates, by its path in the store.
struct ReleasedLog {
  std::string path;
  std::uint64_t bytes = 0;  ///< those that whole lines fill
};

/// What a release has left, by paths in the store.
struct ReleasedFiles {
  std::string model;
  std::array<ReleasedLog, 2> logs;  ///< what is private first
  bool canonical = false;           ///< a file beside the model has its history (SolverEntry::canonical)
};

/// Puts a model and its logs into `manifest`, made durable; of a canonical model in a store that
/// has acknowledged no request the model alone. What is not there is not recorded.
void record_release(const std::filesystem::path& store, const ReleasedFiles& files, Manifest& manifest);

/// Takes what is recorded of a model and its logs out of `manifest`; false where nothing is.
bool forget_release(const ReleasedFiles& files, Manifest& manifest);

}  // namespace unweave
