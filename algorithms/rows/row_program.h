// algorithms/rows/row_program.h - what a model's rows are made of: a declared map from the
// embedding and the present lists and labels to numbers, without a state and without chance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/learning/row_unit.h"

namespace unweave {

/// What is done to a row once its blocks stand side by side.
enum class RowScale {
  clip,  ///< rows longer than the clip are drawn in; the others stay
  unit   ///< rows are divided by their Euclidean norm; a row of zeros stays
};

/// Fixed random features of a row x, formed in integers (algorithms/rows/lift.h): the row becomes
/// [x, lift(x)] / sqrt(2).
struct Lift {
  std::uint32_t width = 1024;  ///< features, rounded up to a multiple of the transform's length
  std::uint64_t key = 0;       ///< the signs are made of it; it is public
  double bias = 0;             ///< a constant beside the row, |bias| <= 1; 0: none
  bool of_nodes = false;       ///< beside the rows of nodes of which that of a pair or a graph is made

  friend bool operator==(const Lift&, const Lift&) = default;
};

/// How the rows of a whole graph's nodes become one row: their sum, divided.
struct Pool {
  enum class By { nodes, root, number };
  By by = By::nodes;          ///< the number of its nodes (the mean), its square root, or a constant
  std::uint32_t divisor = 0;  ///< that constant, which is public; 0 where there is none

  friend bool operator==(const Pool&, const Pool&) = default;
};

/// How the rows a and b of two nodes become the row of the pair.
struct PairForm {
  enum class How { hadamard, difference, both };
  How how = How::hadamard;  ///< products a_j b_j, halves of |a_j - b_j|, or both side by side
  std::uint32_t by = 1;     ///< a power of two that multiplies them; it is public

  friend bool operator==(const PairForm&, const PairForm&) = default;
};

/// Classes of pairs: an edge, or none.
inline constexpr std::size_t kPairClasses = 2;

/// A value; two models of one program and one store have the same rows. All of it is public, and
/// none of it may be a statistic of the data.
struct RowProgram {
  RowProgram() = default;
  /// Weighted sums of levels.
  RowProgram(std::vector<double> level_weights)  // NOLINT(google-explicit-constructor): weights are a program
      : weights(std::move(level_weights)) {}

  /// Weights of the levels, L + 1 numbers for each block of weighted sums (Embedding::rows).
  std::vector<double> weights{};
  std::vector<std::string> blocks{};  ///< names of further blocks (row_block.h), in the order of their table
  /// Copies of a node in the store (storage/types/layers.h), whose blocks stand side by side; 1 for
  /// pairs, whose ends are single copies.
  std::uint32_t copies = 1;
  /// Blocks of level 0 alone stand in the row of the first copy only: the others' are the same.
  bool level_0_once = false;
  RowScale scale = RowScale::clip;
  std::optional<Pool> pool{};      ///< how rows of whole graphs come of those of nodes
  std::optional<PairForm> pair{};  ///< how rows of pairs do; a program has one of both at most
  std::optional<Lift> lift{};      ///< beside the row of a node, or of what its unit is (Lift::of_nodes)

  [[nodiscard]] RowUnit unit() const noexcept { return pool ? RowUnit::graph : pair ? RowUnit::pair : RowUnit::node; }
  /// What makes the rows of nodes of which those of its units are made.
  [[nodiscard]] RowProgram of_nodes() const {
    RowProgram program = *this;
    program.pool.reset();
    program.pair.reset();
    if (program.lift && !program.lift->of_nodes) program.lift.reset();
    if (program.lift) program.lift->of_nodes = false;
    return program;
  }
  /// The lift beside the rows of its units, where these are no nodes.
  [[nodiscard]] std::optional<Lift> lift_of_units() const { return lift && !lift->of_nodes ? lift : std::nullopt; }
  /// How many classes its rows are of, where nodes and graphs are of so many.
  [[nodiscard]] std::size_t classes(std::size_t declared) const noexcept { return pair ? kPairClasses : declared; }
  /// Whether rows are weighted sums of a node's levels and nothing else.
  [[nodiscard]] bool only_levels() const noexcept {
    return blocks.empty() && copies == 1 && scale == RowScale::clip && !lift && unit() == RowUnit::node;
  }
  friend bool operator==(const RowProgram&, const RowProgram&) = default;
};

/// `clip` or `unit`.
[[nodiscard]] std::string scale_name(RowScale scale);
/// Throws UsageError for another word.
[[nodiscard]] RowScale scale_named(const std::string& name);

/// The words between the commas of what an option of this key was given; throws UsageError where
/// one is empty.
[[nodiscard]] std::vector<std::string> words_between_commas(const std::string& key, const std::string& text);

/// A lift in the words of users: its width, then perhaps `key=K`, `bias=B` and `at=node`, by
/// commas. Throws UsageError.
[[nodiscard]] Lift lift_named(const std::string& text);
/// What lift_named() reads.
[[nodiscard]] std::string text_of(const Lift& lift);

/// A pool in the words of users: `mean`, `root`, or `sum=D` with a whole number D of at least 1.
/// Throws UsageError.
[[nodiscard]] Pool pool_named(const std::string& text);
/// What pool_named() reads.
[[nodiscard]] std::string text_of(const Pool& pool);

/// The form of pairs in the words of users: `hadamard`, `difference` or `both`, then perhaps `by=B`
/// with a power of two B up to 2^20. Throws UsageError.
[[nodiscard]] PairForm pair_form_named(const std::string& text);
/// What pair_form_named() reads.
[[nodiscard]] std::string text_of(const PairForm& pair);

/// Whether these are the weights of the scheme stack of some number of levels.
[[nodiscard]] bool is_stack(const std::vector<double>& weights);
/// Its blocks behind what its levels are called, in the words of the option that chooses them:
/// `stack,labels`.
[[nodiscard]] std::string words_of(const RowProgram& program, const std::string& levels);
/// A line for people: `stack,labels unit pool mean lift 1024`.
[[nodiscard]] std::string text_of(const RowProgram& program);

}  // namespace unweave
