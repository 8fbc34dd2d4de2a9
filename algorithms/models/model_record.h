// algorithms/models/model_record.h - a model in its store: with the options and the propagation it
// stands on, and the certificate of its last release.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/random/hash.h"
#include "algorithms/rows/row_program.h"
#include "algorithms/unlearning/model.h"
#include "algorithms/unlearning/options.h"
#include "storage/types/propagation_spec.h"

namespace unweave {

struct Manifest;

struct ModelRecord {
  Model model;
  std::string name;       ///< name in its store, where it is not that of its solver (name_of)
  SolverOptions options;  ///< without a seed: none is ever kept beside a model
  RowProgram rows;        ///< what the rows that it was trained on are made of
  double clip = 1;        ///< public norm that rows are clipped to

  // The propagation of the store when it was trained.
  std::uint32_t levels = 0;
  double rho = 0;
  std::uint32_t scale_bits = 0;
  bool all_rows = false;
  KeptForm kept{};  ///< what the store keeps: rows of 16 bits are others than those that sums give

  // The certificate of its last release (certificate_log.h). Each part is one line of JSON.
  std::string certificate;   ///< the public line; empty: a purge kept the model, and a writer has yet to certify it
  std::string private_part;  ///< what the public line commits to

  std::string release_key;  ///< key of its name, in hexadecimal digits: who lacks it cannot tell weights by the name

  // Receipts of the batch that it absorbed last, where they were asked for (receipts.h).
  std::string receipt_secret;         ///< in hexadecimal digits; empty: there are no receipts
  std::string receipts_file;          ///< absolute path of the file that they go to, and no other; printable()
  std::vector<std::string> requests;  ///< requests with outcomes (request_status.h); in older models, their lines
};

/// What the model is called in its store: its solver, unless it was given another name
/// (model_name.h).
[[nodiscard]] inline const std::string& name_of(const ModelRecord& record) noexcept {
  return record.name.empty() ? record.model.solver : record.name;
}

/// BLAKE2b-256 of the published weights, float64 little endian, feature by feature.
[[nodiscard]] Hash weights_digest(const ModelRecord& record);
/// BLAKE2b-256 of the same bytes under the release's key. Certificates bind themselves to the
/// weights by it: the plain digest of a noiseless release would confirm guesses of what was removed
/// later, for as long as the log is kept.
[[nodiscard]] Hash weights_commitment(const ModelRecord& record);

/// Name of a release: name of the model, number, and the first 8 bytes of weights_commitment().
[[nodiscard]] std::string release_id(const ModelRecord& record);

/// What its rows are.
[[nodiscard]] inline RowForm form_of(const ModelRecord& record) noexcept {
  return {record.clip, record.options.intercept};
}

/// Parts of its rows that a network weighs; 1 where they are more than weighted sums of levels, or
/// its solver's networks weigh none.
[[nodiscard]] std::size_t blocks_of(const ModelRecord& record);

/// Copies what the model's rows depend on, beside its weights, out of a propagation.
void stand_on(ModelRecord& record, const PropagationSpec& spec);

/// Throws DataError naming `train` when the store's present propagation is another one than the
/// model's.
void check_propagation(const ModelRecord& record, const Manifest& manifest, const std::filesystem::path& store);

// Files of a model. Each of these throws UsageError for what can be no model's name (model_name.h).

/// models/<name>/, where the model's solver keeps files of its own.
[[nodiscard]] std::filesystem::path folder_of(const std::filesystem::path& store, std::string_view name);
/// models/<name>.model.
[[nodiscard]] std::filesystem::path model_file(const std::filesystem::path& store, std::string_view name);
/// certificates/<name>.release, what is private of the newest release of a canonical model
/// (SolverEntry::canonical).
[[nodiscard]] std::filesystem::path release_file(const std::filesystem::path& store, std::string_view name);

/// Writes models/<name>.model; durable on return. All that depends on the history of a canonical
/// model goes to release_file() first, in two versions, of which the file of the model then there
/// says the one that holds.
void save_model(const std::filesystem::path& store, const ModelRecord& record);

/// Makes a model durable that is there, whatever became of its writer.
void sync_model(const std::filesystem::path& store, std::string_view name);

/// Throws UsageError naming `train` when no model of this name was ever trained on this store,
/// FormatError; RecordError for a model that the manifest recorded and is not there, or is another
/// one and not later.
[[nodiscard]] ModelRecord load_model(const std::filesystem::path& store, std::string_view name);
/// Loads a model beside a manifest that was read before.
[[nodiscard]] ModelRecord load_model(const std::filesystem::path& store, const Manifest& manifest,
                                     std::string_view name);

/// What `info` tells of a model.
struct ModelSummary {
  std::string name;
  std::string solver{};
  std::string id{};            ///< id of its release; empty where it has yet to be certified
  Hash digest{};               ///< weights_digest()
  std::uint64_t sequence = 0;  ///< request that it has absorbed; outdated when the store has acknowledged more
  std::uint64_t releases = 0;
  std::string rows{};    ///< what its rows are made of, in words
  std::string damage{};  ///< why the file cannot be read; then only `name` is known
};

/// The models of a store, in the order of model_names(). Throws DataError, ResourceError where the
/// system refuses to read one, which tells nothing of the model.
[[nodiscard]] std::vector<ModelSummary> list_models(const std::filesystem::path& store);

}  // namespace unweave
