// storage/input/features/tu_features.cpp - rows of nodes of a data set in the form of TUDataset:
// numbers of labels as columns of zeros and ones, then attributes.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "storage/input/features/feature_formats.h"
#include "storage/input/words/line_reader.h"
#include "storage/io/error.h"
#include "storage/io/number_text.h"

namespace unweave {
namespace {

std::uint64_t columns_of(const TuInput& input) {
  std::uint64_t columns = input.attribute_columns;
  for (const std::vector<std::int64_t>& values : input.values) columns += values.size();
  return std::max<std::uint64_t>(columns, 1);
}

/// Lines of a file, one a node.
class NodeLines {
 public:
  NodeLines(const InputFile& file, std::uint64_t nodes) : lines_(ByteSource(file)), nodes_(nodes) {}

  [[nodiscard]] Fields next() {
    if (!lines_.next(line_))
      throw InputError(lines_.name(), "end of the file",
                       std::to_string(lines_.number()) + " lines, and there are " + std::to_string(nodes_) + " nodes",
                       "fetch the files again");
    return Fields(line_);
  }
  void require_end() {
    std::string_view line;
    while (lines_.next(line))
      if (!Fields(line).at_end())
        throw InputError(lines_.name(), lines_.place(), "a line for more than " + std::to_string(nodes_) + " nodes",
                         "fetch the files again");
  }
  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const {
    throw InputError(lines_.name(), lines_.place(), what, remedy);
  }

 private:
  LineReader lines_;
  std::string_view line_;
  std::uint64_t nodes_;
};

class TuFeatures final : public FeatureReader {
 public:
  explicit TuFeatures(TuInput input) : FeatureReader(input.nodes, columns_of(input), true), input_(std::move(input)) {
    if (input_.labels) labels_.emplace(*input_.labels, input_.nodes);
    if (input_.attributes) attributes_.emplace(*input_.attributes, input_.nodes);
  }

  bool next(FeatureBatch& batch, std::size_t max_values) override {
    if (done_ == rows()) return false;
    batch.first_row = done_;
    batch.rows = 0;
    batch.sparse = true;
    batch.indptr.assign(1, 0);
    batch.indices.clear();
    batch.values.clear();
    do {
      add_row(batch);
      batch.indptr.push_back(batch.values.size());
      ++batch.rows;
      ++done_;
    } while (done_ < rows() && batch.values.size() + most_of_a_row() <= max_values);
    if (done_ < rows()) return true;
    if (labels_) labels_->require_end();
    if (attributes_) attributes_->require_end();
    return true;
  }

 private:
  [[nodiscard]] std::size_t most_of_a_row() const {
    return std::max<std::size_t>(1, input_.values.size() + input_.attribute_columns);
  }

  void add_row(FeatureBatch& batch) {
    const auto add = [&](std::uint64_t column, double value) {
      if (value == 0) return;
      batch.indices.push_back(static_cast<std::uint32_t>(column));
      batch.values.push_back(value);
    };
    std::uint64_t column = 0;
    if (labels_) {
      Fields fields = labels_->next();
      for (const std::vector<std::int64_t>& values : input_.values) {
        std::int64_t label = 0;
        const bool is_number = !fields.at_end() && fields.number(label) == std::errc();
        const auto at = std::lower_bound(values.begin(), values.end(), label);
        if (!is_number || at == values.end() || *at != label)
          labels_->fail("not " + std::to_string(input_.values.size()) + " whole numbers, as every line has",
                        "correct it");
        add(column + static_cast<std::uint64_t>(at - values.begin()), 1);
        column += values.size();
      }
      if (!fields.at_end()) labels_->fail("more numbers than other lines have", "correct it");
    }
    if (attributes_) add_attributes(column, add);
    if (!labels_ && !attributes_) add(0, 1);
  }

  template <class Add>
  void add_attributes(std::uint64_t column, const Add& add) {
    Fields fields = attributes_->next();
    for (std::uint64_t i = 0; i < input_.attribute_columns; ++i) {
      double value = 0;
      if (fields.at_end() || fields.number(value) != std::errc() || !std::isfinite(value))
        attributes_->fail("not " + std::to_string(input_.attribute_columns) + " finite numbers, as every line has",
                          "correct it");
      if (std::abs(value) > input_.bound)
        attributes_->fail("attribute " + std::to_string(i) + ", " + shortest_text(value) + ", is beyond " +
                              option("attribute-bound", shortest_text(input_.bound)),
                          "declare a public number that none exceeds");
      add(column + i, value / input_.bound);
    }
    if (!fields.at_end()) attributes_->fail("more numbers than other lines have", "correct it");
  }

  TuInput input_;
  std::optional<NodeLines> labels_, attributes_;
  std::uint64_t done_ = 0;
};

}  // namespace

std::unique_ptr<FeatureReader> open_tu_features(const TuInput& input) {
  check_feature_shape(input.indicator.path, input.nodes, columns_of(input));
  return std::make_unique<TuFeatures>(input);
}

}  // namespace unweave
