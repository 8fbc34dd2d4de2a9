// engine/ingest/column_survey.h - what the columns of features seem to be: ids or times, counts
// beside small numbers, next to nothing. Rows come to norm at most 1 whatever is in them, so that
// one such column can leave the others no weight.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "storage/input/features/feature_reader.h"
#include "storage/types/feature_layout.h"

namespace unweave {

/// Looks at the first rows, so that what it says is the same however an import is divided. Not for
/// concurrent use.
class ColumnSurvey {
 public:
  /// `divisor`: a row above this norm is divided by its norm, others by the divisor.
  explicit ColumnSurvey(std::uint64_t columns, double divisor);
  /// 0 where there are too many columns to look at.
  [[nodiscard]] static std::uint64_t bytes(std::uint64_t columns) noexcept;

  /// Rows behind the first ones are passed over.
  void add(const FeatureBatch& batch);
  /// Whether it has seen all that it looks at.
  [[nodiscard]] bool is_done() const noexcept { return columns_.empty() || rows_ >= kRows; }
  /// A sentence for each thing that may not have been meant, with what helps. `file`: as the user
  /// named it. `without`: what leaves a column out.
  [[nodiscard]] std::vector<std::string> remarks(const std::string& file,
                                                 const std::function<std::string(std::size_t)>& without) const;

 private:
  struct Column {
    double squares = 0;  ///< sum of those of its values once rows are divided
    double largest = 0;  ///< largest of these values, absolute
    bool may_be_ids = true;
    std::set<double> seen;  ///< whole numbers so far, all different
  };
  void add_row(const FeatureBatch& batch, std::size_t row);

  static constexpr std::uint64_t kRows = 1024;
  double divisor_;
  std::vector<Column> columns_;
  std::uint64_t rows_ = 0;
  bool sparse_ = false;
};

/// A reader of the rows of another one, for a file that is read but once; `survey` sees them and
/// outlives the reader.
[[nodiscard]] std::unique_ptr<FeatureReader> surveyed(std::unique_ptr<FeatureReader> reader, ColumnSurvey& survey);

}  // namespace unweave
