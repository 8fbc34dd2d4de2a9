// storage/types/pair_rules.h - what pairs of nodes are for, where a store predicts links: a public
// function of the pair alone, whether it is an edge or not.
#pragma once

#include <cstdint>
#include <string>

#include "storage/io/types.h"

namespace unweave {

/// An edge of a pair of this role is held for validation, held for test, something to learn from,
/// or the graph's alone.
enum class PairRole : std::uint8_t { valid = 0, test = 1, label = 2, plain = 3 };

/// `valid`, `test`, `label` or `plain`.
[[nodiscard]] std::string role_name(PairRole role);

/// What an import declares of pairs. All of it is public, and none of it a statistic of the data.
struct PairRules {
  static constexpr std::uint64_t kWhole = std::uint64_t{1} << 32;
  static constexpr std::uint32_t kMostNegatives = 1000;
  static constexpr std::uint64_t kMostUniform = kWhole;

  std::uint64_t key = 0;
  /// Bounds among 2^32 equal parts of all pairs: those below the first are `valid`, below the next
  /// `test`, below the last `label`.
  std::uint64_t below_valid = 0, below_test = 0, below_label = kWhole;
  /// Pairs of no edge that each positive pair brings along.
  std::uint32_t negatives = 1;
  /// In place of these: so many pairs of each split, whatever edges there are; 0: none.
  std::uint64_t uniform = 0;
  /// Edges of `label` are not in the graph.
  bool apart = false;
  /// Edges have directions, so that (u, v) and (v, u) are two pairs. No word of users says so: it
  /// follows from the layers of the store.
  bool directed = false;

  /// The number that names a pair of users' ids in all keyed choices.
  [[nodiscard]] constexpr std::uint64_t number(NodeId u, NodeId v) const noexcept {
    return directed || u < v ? std::uint64_t{u} << 32 | v : std::uint64_t{v} << 32 | u;
  }
  /// By the users' ids of both ends, where they have directions that of the source first.
  [[nodiscard]] PairRole role(NodeId u, NodeId v) const noexcept;
  /// Whether edges of a role are kept out of the graph.
  [[nodiscard]] constexpr bool holds(PairRole role) const noexcept {
    return role == PairRole::valid || role == PairRole::test || (role == PairRole::label && apart);
  }
  [[nodiscard]] bool holds(NodeId u, NodeId v) const noexcept { return holds(role(u, v)); }

  friend bool operator==(const PairRules&, const PairRules&) = default;
};

/// Why no store has these rules; empty where one may.
[[nodiscard]] std::string pair_rules_fault(const PairRules& rules);
/// Rules in the words of users: `valid=.2,test=.1,share=.5,negatives=1,apart,key=7` or with
/// `uniform=M` in place of negatives, each of which may be left out. Throws UsageError.
[[nodiscard]] PairRules pair_rules_named(const std::string& text);
/// What pair_rules_named() reads as the same rules.
[[nodiscard]] std::string text_of(const PairRules& rules);

/// Bits of the largest id of so many nodes, at least one: ends of negatives are drawn among the
/// numbers that have so many.
[[nodiscard]] unsigned id_bits(NodeId nodes) noexcept;

}  // namespace unweave
