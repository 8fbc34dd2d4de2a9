// algorithms/models/training_terms.h - how a model was trained, as its public log of certificates
// says: enough to train it anew where a purge has removed the model itself.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/rows/row_program.h"
#include "algorithms/unlearning/options.h"

namespace unweave {

struct TrainingTerms {
  std::string solver;
  SolverOptions options;
  RowProgram rows;
};

/// What the newest certificate of this name says; none where there is no certificate. Throws
/// DataError for what is no line of a log, or of a solver that this program does not know.
[[nodiscard]] std::optional<TrainingTerms> terms_in_log(const std::filesystem::path& store, std::string_view name);

}  // namespace unweave
