// algorithms/models/recorded_release.h - a model and its logs of certificates beside what the
// manifest recorded of them at a clean close. A model is replaced and its logs grow: what is there
// may be later than the record, but not earlier, less or other.
#pragma once

#include <filesystem>
#include <string_view>

#include "algorithms/live/released_files.h"
#include "algorithms/models/model_record.h"

namespace unweave {

struct Manifest;

/// The files of a model's release as they are there, for whoever has not written them.
[[nodiscard]] ReleasedFiles released_files(const std::filesystem::path& store, std::string_view name);
/// Their paths alone.
[[nodiscard]] ReleasedFiles released_paths(const std::filesystem::path& store, std::string_view name);

/// Throws RecordError unless a solver's log begins with what was recorded of it.
void require_recorded_log(const std::filesystem::path& store, const Manifest& manifest, std::string_view name,
                          const std::filesystem::path& log);
/// Throws RecordError unless both logs of a solver begin with what was recorded of them. Where
/// `anew`, logs may be missing. Returns whether all that is recorded is there.
bool require_recorded_logs(const std::filesystem::path& store, const Manifest& manifest, std::string_view name,
                           bool anew);

/// Throws RecordError where a model was recorded that is not there.
void require_no_recorded_model(const std::filesystem::path& store, const Manifest& manifest, std::string_view name);

/// Whether the model's file, which is there, is the recorded one. To be asked before it is read: a
/// later one may replace it.
[[nodiscard]] bool is_recorded_model(const std::filesystem::path& store, const Manifest& manifest,
                                     std::string_view name);
/// Throws RecordError unless a model that is not the recorded one is later.
void require_later(const std::filesystem::path& store, const Manifest& manifest, const ModelRecord& record);

}  // namespace unweave
