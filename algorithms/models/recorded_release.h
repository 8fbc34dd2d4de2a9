// algorithms/models/recorded_release.h - a model and its logs of certificates beside what the
// manifest recorded of them at a clean close. A model is replaced and its logs grow: what is there
// may be later than the record, but not earlier, less or other.
#pragma once

#include <filesystem>
#include <string_view>

#include "algorithms/live/release_ledger.h"
#include "algorithms/models/model_record.h"

namespace unweave {

struct Manifest;

/// Puts a solver's model and logs into `manifest` as they are, durable; of a canonical model
/// (SolverEntry::canonical) in a store that has acknowledged no request the model alone.
void record_release(const std::filesystem::path& store, std::string_view name, Manifest& manifest);

/// Takes what is recorded of a solver out of `manifest`; false where nothing is.
bool forget_release(const std::filesystem::path& store, std::string_view name, Manifest& manifest);

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

/// The models and logs of certificates that lie in a store's folder.
[[nodiscard]] const ReleaseLedger& release_ledger() noexcept;

}  // namespace unweave
