// algorithms/api/unweave/models.h - the models of a store: which there are, what they were made by,
// how lambda is chosen.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/rows/row_program.h"
#include "algorithms/unlearning/options.h"

namespace unweave {

struct ModelRecord;

inline namespace v0 {

struct Internals;

/// Which models are meant: that of a name, of a solver, or all.
struct ModelSelection {
  std::optional<std::string> name{};
  std::optional<std::string> solver{};  ///< beside a name: the model must be this solver's
};

/// Throws UsageError for what cannot be the name of a model of this solver
/// (algorithms/models/model_name.h).
void check_model_name(std::string_view name, std::string_view solver);

/// What a model was made by and what it stands on.
struct ModelFacts {
  std::string name{};
  std::string solver{};
  SolverOptions options{};
  RowProgram rows{};
  std::uint64_t sequence = 0;  ///< the last request that it has absorbed
  std::size_t row_width = 0;   ///< numbers in a row of Z that it takes, an intercept not counted
  std::size_t classes = 0;
  Head head = Head::kLogistic;
};

/// A published model in memory. Copies share it.
class StoredModel {
 public:
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] const std::string& solver() const noexcept;
  [[nodiscard]] ModelFacts facts() const;
  /// The public line of its newest certificate.
  [[nodiscard]] const std::string& certificate() const noexcept;

 private:
  friend struct Internals;
  explicit StoredModel(std::shared_ptr<const ModelRecord> record) noexcept : record_(std::move(record)) {}
  std::shared_ptr<const ModelRecord> record_;
};

/// The models that are selected, in the order of solvers, then of names; at least one. Read them
/// before the store is opened: a writer at work acknowledges requests before its models have
/// absorbed them. Throws UsageError where there is none, DataError.
[[nodiscard]] std::vector<StoredModel> read_models(const std::filesystem::path& store, const ModelSelection& selection);
/// The one model that is selected. Throws UsageError that names them where there are several.
[[nodiscard]] StoredModel read_model(const std::filesystem::path& store, const ModelSelection& selection);

}  // namespace v0
}  // namespace unweave
