// algorithms/unlearning/account.h - what `plan` can say of a solver before it is trained.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace unweave {

/// Answers of a solver with an account of its requests.
struct UnlearningPlan {
  std::string unit;            ///< what is counted: epochs or steps
  std::uint64_t learning = 0;  ///< T, and the price of training again
  std::vector<std::pair<std::string, double>> constants;
  std::vector<std::string> rules;  ///< names of the noise levels that noise() returns

  /// Fewest after one batch that removes `rows` from a freshly trained model, at the constants
  /// above and this epsilon; none: train again.
  std::function<std::optional<std::uint64_t>(std::uint64_t rows, double epsilon)> fewest;
  /// Least sigma with which `count` suffice for such a batch, rule by rule; infinity where none
  /// does.
  std::function<std::vector<double>(std::uint64_t rows, std::uint64_t count)> noise;
  /// Counts of a sequence of batches that remove so many rows each, where training again costs
  /// `learning`.
  std::function<std::vector<std::uint64_t>(std::span<const std::uint64_t> batches)> sequence;
};

/// Answers of a solver whose requests cost little, after a training that makes files.
struct TrainingNeeds {
  /// A line of a table: a count, a number, or words.
  struct Line {
    std::string label;
    std::variant<std::uint64_t, double, std::string> value;
  };
  std::vector<Line> before, after;  ///< those above and below the line about the disk
  /// What the lines say, for programs: a name, and a count, a number, words or nothing.
  std::vector<std::pair<std::string, std::variant<std::monostate, std::uint64_t, double, std::string>>> fields;
  std::string disk_label;  ///< what the files are
  std::uint64_t disk_bytes = 0;
  bool makes_files = false;
  std::string closing;  ///< what a request will cost
  std::string remedy;   ///< where the disk has no room
};

}  // namespace unweave
