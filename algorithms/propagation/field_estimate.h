// algorithms/propagation/field_estimate.h - how many rows the labelled nodes read, from a sample of
// lists.
//
// Level L keeps the labelled nodes T, level l < L keeps N(T_{l+1}), each node itself included. The
// graph is undirected, so that a node belongs to N(T) where its own list names a node of T: one
// list tells it. Labelled nodes belong to every level. Others are drawn at random from classes of
// about equal degree, since a node belongs the likelier the longer its list is; the share of a
// class that belongs, times its nodes and times its arcs, which are known, is what it contributes.
//
//   rows_l = |T| + sum over classes b of n_b p_b
//   standard error: sqrt(sum_b n_b^2 p_b (1 - p_b) / m_b (1 - m_b / n_b))
//
// with m_b drawn nodes of class b. For l = L - 1 this is unbiased. Below, a drawn node asks for its
// neighbours' lists, the longest first, until one belongs to level l + 1, but for at most some
// lists in all; what is not read counts as the share of its class, as if neighbours belonged
// independently of each other.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/graph/contents.h"

namespace unweave {

/// Levels 1 .. L of the receptive field; all vectors have L numbers.
struct FieldEstimate {
  std::vector<double> rows, arcs;              ///< arcs: self loops included
  std::vector<double> rows_error, arcs_error;  ///< standard errors; 0 at level L, which is counted
};

inline constexpr std::uint64_t kFieldNodes = 16384;  ///< drawn for level L - 1, and an eighth of it for each one below

/// Estimates levels 1 .. L >= 1 of the labelled nodes' receptive field. Reads the lists of `drawn`
/// nodes at level L - 1 and some more below, on many threads at a time, and no others. Equal seeds
/// draw equal nodes. Throws FormatError.
[[nodiscard]] FieldEstimate estimate_field(const Contents& contents, std::uint32_t levels,
                                           std::uint64_t drawn = kFieldNodes, std::uint64_t seed = 0);

}  // namespace unweave
