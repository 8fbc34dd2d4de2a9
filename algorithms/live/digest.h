// algorithms/live/digest.h - one number for what a store holds: equal contents, equal digest,
// whatever way led to them.
//
// Contents are decoded and hashed in ids and values, so that shards, codec, overlay, journal,
// batches, order of work and threads leave no trace. In: the numbers of nodes, columns and classes;
// adjacency, features, labels and splits, of whole graphs too; and, once propagated, L, rho, scale,
// the rows of the receptive field, their sums and the stale rows. Out: weights, scheme, r_max and
// norms, which only choose how contents are read or changed.
//
//   node   BLAKE2b-256 of what one node has, neighbours by the user's ids
//   leaf   BLAKE2b-256 of 64 consecutive nodes (the last leaf may have fewer), by the user's ids
//   root   BLAKE2b-256 of the constants and all leaves in order
//
// Nodes are read in the order of the store, whatever that is. A leaf depends on its own nodes
// alone, so a change asks for new leaves of the changed nodes and the root.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "storage/io/types.h"

namespace unweave {

class Contents;
class Embedding;
class LiveStore;
class MemoryBudget;
class NameList;
struct Manifest;

inline constexpr NodeId kLeafNodes = 64;

using Digest = std::array<std::byte, 32>;

/// Lower-case hexadecimal digits.
[[nodiscard]] std::string digest_text(const Digest& digest);

/// The digest of a store at its present moment; before `propagate`, of graph, features, labels and
/// splits alone. Runs on all threads. Where positions are not ids it takes 32 bytes a node of the
/// store's budget, or half of what that has left, and reads the store more than once. Throws
/// FormatError, ResourceError.
[[nodiscard]] Digest content_digest(const LiveStore& store);
/// The digest of contents and embedding that were opened otherwise: `embedding` is null before
/// `propagate`. Where the manifest has more nodes than the contents, the others are taken for nodes
/// that have nothing but the names of `added`, as far as it goes.
[[nodiscard]] Digest content_digest(const Manifest& manifest, const Contents& contents, const Embedding* embedding,
                                    MemoryBudget& budget, const NameList* added = nullptr);

}  // namespace unweave
