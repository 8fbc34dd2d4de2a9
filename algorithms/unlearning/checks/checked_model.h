// algorithms/unlearning/checks/checked_model.h - a model and the certificate of its last release,
// as checks see them.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "algorithms/learning/training_set.h"
#include "algorithms/unlearning/checks/statements.h"
#include "algorithms/unlearning/model.h"
#include "algorithms/unlearning/options.h"

namespace unweave {

/// A release of the same model on other rows: from a copy of the store before removals.
struct EarlierRelease {
  const Model& model;
  const TrainingSet& rows;
};

/// Members of the certificate are read as they are asked for; each throws nlohmann::json::exception
/// where the certificate lacks one or has it in another form.
struct CheckedModel {
  const Model& model;
  const SolverOptions& options;
  RowForm form;                               ///< form of its rows
  std::filesystem::path folder;               ///< folder of the solver's own files
  const nlohmann::ordered_json& certificate;  ///< public and private part together
  const EarlierRelease* before = nullptr;     ///< null where no copy was named

  [[nodiscard]] bool certified() const { return certificate.at("certified").get<bool>(); }
  [[nodiscard]] double number(const char* member) const { return certificate.at(member).get<double>(); }
  [[nodiscard]] double term(const char* name) const { return certificate.at("terms").at(name).get<double>(); }
  /// What stands in the model as a term, name by name.
  void check_terms(std::span<const std::pair<const char*, double>> held, Statements& say) const {
    for (const auto& [name, value] : held) say.near(name, term(name), value);
  }
  /// Throws as the others do.
  [[nodiscard]] double delta_reached() const { return certificate.at("delta").at("reached").get<double>(); }
  /// The delta that a certified release reaches must be this one, and at most its target.
  void check_delta(double found, Statements& say) const {
    say.near("the delta reached", delta_reached(), found, 1e-8);
    say.at_most("the delta reached", delta_reached(), "the target", options.delta);
  }
  [[nodiscard]] std::size_t features() const { return size_of(model.published.rows()); }
  [[nodiscard]] std::size_t classes() const { return size_of(model.published.cols()); }
};

/// Reports where the number of filled slots is not the number of rows; true where it is.
[[nodiscard]] inline bool check_filled(std::span<const NodeId> slots, std::size_t rows, Statements& say) {
  std::size_t filled = 0;
  for (const NodeId node : slots) filled += node != kNoNode ? 1 : 0;
  if (filled == rows) return true;
  say.wrong(std::to_string(filled) + " slots are filled, there are " + std::to_string(rows) + " rows");
  return false;
}

}  // namespace unweave
