// algorithms/model_record.h - a model in its store: with the options and the propagation it stands on, and the
// certificate of its last release.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/solver.h"
#include "storage/manifest.h"

namespace unweave {

struct ModelRecord {
  Model model;
  SolverOptions options;        ///< without a seed: none is ever kept beside a model
  std::vector<double> weights;  ///< of the rows of Z that it was trained on (Embedding::rows)
  double clip = 1;              ///< public norm that rows are clipped to

  // The propagation of the store when it was trained.
  std::uint32_t levels = 0;
  double rho = 0;
  std::uint32_t scale_bits = 0;
  bool all_rows = false;

  std::string certificate;  ///< of its last release, one line of JSON
};

/// Name of a release: solver, number, and the first half of a checksum of the published weights.
[[nodiscard]] std::string release_id(const Model& model);

/// Parts of its rows.
[[nodiscard]] std::size_t blocks_of(const ModelRecord& record);

/// Copies what the model's rows depend on, beside its weights, out of a propagation.
void stand_on(ModelRecord& record, const PropagationSpec& spec);

/// Throws DataError naming `train` when the store's present propagation is another one than the model's.
void check_propagation(const ModelRecord& record, const Manifest& manifest, const std::filesystem::path& store);

/// models/<solver>/, where the solver keeps files of its own.
[[nodiscard]] std::filesystem::path folder_of(const std::filesystem::path& store, std::string_view solver);

/// Writes models/<solver>.model; durable on return.
void save_model(const std::filesystem::path& store, const ModelRecord& record);

/// Makes a model durable that is there, whatever became of its writer.
void sync_model(const std::filesystem::path& store, std::string_view solver);

/// Throws UsageError naming `train` when the solver was never trained on this store, FormatError.
[[nodiscard]] ModelRecord load_model(const std::filesystem::path& store, std::string_view solver);

/// What `info` tells of a model.
struct ModelSummary {
  std::string solver;
  std::string id;
  std::uint64_t sequence = 0;  ///< request that it has absorbed; outdated when the store has acknowledged more
  std::uint64_t releases = 0;
  std::string damage;  ///< why the file cannot be read; then only `solver` is known
};

/// The models of a store, in the order of solver_names(). Throws DataError, ResourceError where the system refuses to read
/// one, which tells nothing of the model.
[[nodiscard]] std::vector<ModelSummary> list_models(const std::filesystem::path& store);

}  // namespace unweave
