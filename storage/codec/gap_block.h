// storage/codec/gap_block.h - the codec of adjacency blocks: sorted neighbour lists to bytes and
// back.
//
// A block holds the lists of up to kBlockNodes consecutive nodes; how many neighbours each node has
// is stored elsewhere and given to every call. The bytes are normative in storage/FORMAT.md, "Graph
// blocks". Two encodings exist, chosen per block by a fixed rule of the codec: bit-packed gaps,
// which SIMD decodes, and zstd over byte-coded gaps where that is far smaller. Equal lists give
// equal bytes on every machine that has the same release of zstd.
//
// All functions may run on any number of threads at once; a thread that meets zstd keeps its
// contexts, below 1 MiB. Decoding trusts nothing but `counts`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/io/types.h"

namespace unweave {

inline constexpr std::size_t kBlockNodes = 32;

/// Elements past the last target that decoding may overwrite with anything.
inline constexpr std::size_t kDecodeSlack = 16;

/// The bytes of a block are wrong. `what` is a string literal; who knows file and offset makes a
/// FormatError of it.
struct BlockError {
  const char* what;
};

/// Appends to `out` the block of at most kBlockNodes lists: counts[i] neighbours each, concatenated
/// in `targets`, each list strictly increasing and at most kMaxNodeId. Nothing is appended when all
/// lists are empty.
void encode_block(std::span<const std::uint32_t> counts, std::span<const NodeId> targets, std::vector<std::byte>& out);

/// Writes all lists of a block to `targets`, which has room for the sum of counts plus
/// kDecodeSlack. `bytes` is exactly the block, and nothing outside it is read. Afterwards every
/// list strictly increases and stays below num_nodes. Throws BlockError; then the contents of
/// `targets` are unspecified.
void decode_block(std::span<const std::byte> bytes, std::span<const std::uint32_t> counts, NodeId num_nodes,
                  NodeId* targets);

/// Writes list `index` alone to `targets`, which has room for counts[index] plus kDecodeSlack. The
/// other lists are skipped, so errors inside them may stay unseen. Otherwise as decode_block.
void decode_list(std::span<const std::byte> bytes, std::span<const std::uint32_t> counts, std::size_t index,
                 NodeId num_nodes, NodeId* targets);

/// Arcs that a block of so many bytes can hold, at most.
[[nodiscard]] std::uint64_t most_block_arcs(std::uint64_t bytes) noexcept;

/// Whether a block that has bytes is encoded by zstd.
[[nodiscard]] bool uses_zstd(std::span<const std::byte> bytes) noexcept;

}  // namespace unweave
