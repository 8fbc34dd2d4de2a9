// algorithms/api/unweave/links.h - what models of links say of pairs of nodes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "storage/io/types.h"
#include "storage/npy/npy_target.h"
#include "unweave/models.h"
#include "unweave/store.h"

namespace unweave {
inline namespace v0 {

/// A list of pairs by the ids of users, with repeats and in their order, and the memory that it
/// takes of the budget.
struct PairListing {
  std::vector<Edge> pairs;
  Reservation memory;
};
/// The pairs that a file lists, as edges of an import are, but for weights. `remark` is told of a
/// first line that was left out as a header. Throws InputError, DataError, ResourceError.
[[nodiscard]] PairListing read_pairs(const Reader& reader, const std::string& file,
                                     const std::function<void(const std::string&)>& remark);

/// What remark_on_blank_nodes() says of the ends of these pairs. Throws UsageError for ids outside
/// the store, and for a pair of a node and itself where edges have no directions.
[[nodiscard]] std::string remark_on_blank_ends(const Reader& reader, const std::vector<Edge>& pairs);
/// That some of these pairs, which a file gives as pairs of no edge, are edges of the store, in the
/// graph or held out of it; empty where none is.
[[nodiscard]] std::string remark_on_present_edges(const Reader& reader, const std::string& file,
                                                  const std::vector<Edge>& pairs);

/// Hands over what a model says of these pairs. Throws UsageError for ids outside the store and for
/// a model whose rows are not of pairs, DataError for one of another propagation.
void score_links(const Reader& reader, const StoredModel& model, const std::vector<Edge>& pairs, const LinkSink& sink);
/// Hands over, for each of these nodes, the `top` best pairs with a node that it has no edge to; of
/// equal scores the smaller id comes first. Throws as score_links() does.
void best_links(const Reader& reader, const StoredModel& model, const std::vector<NodeId>& nodes, std::size_t top,
                const LinkSink& sink);

/// The pairs of a split, `train`, `valid` or `test`, in the order of the rows that models have of
/// them: int64 [m, 3], both ends and 1 for an edge. Throws UsageError for another word, and where
/// the store predicts no links.
void export_pairs(const Reader& reader, const std::string& split, const NpyTarget& target);

}  // namespace v0
}  // namespace unweave
