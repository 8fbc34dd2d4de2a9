// engine/ingest/import_ranks.h - which part of an import each rank of a job has, and what the ranks
// tell rank 0 at the end of a step.
//
// Every rank reads all edges and keeps the arcs whose source lies in its spans; so it sorts and
// writes the shards of these alone, and then the features of the same rows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/ingest/feature_builder.h"
#include "engine/ingest/shard_builder.h"
#include "engine/ingest/store_import.h"
#include "engine/ranks/ranks.h"
#include "storage/io/types.h"

namespace unweave {

/// Throws UsageError where the options ask for what one process does alone.
void require_shared_import(const ImportOptions& options);

/// What this rank has of a graph of so many nodes, which several ranks know; nothing where it is
/// alone, and has all of it.
[[nodiscard]] std::optional<RankShare> own_spans(std::optional<std::uint64_t> nodes, const Ranks& job);
[[nodiscard]] std::optional<NodeRange> own_sources(std::optional<std::uint64_t> nodes, const Ranks& job);

/// Makes the files of this rank durable; at rank 0 the result has those of all, and `spooled_bytes`
/// is that of all. All ranks call it. Throws DataError, ResourceError.
void join_shards(const std::filesystem::path& store, BuiltShards& built, std::uint64_t& spooled_bytes, Ranks& job);
/// Then all ranks have what rank 0 has. All call it.
void share_shards(BuiltShards& built, Ranks& job);
/// As join_shards(), with the norms of all rows.
void join_features(const std::filesystem::path& store, BuiltFeatures& built, Ranks& job);

/// At rank 0 the sentences of all, each once; all ranks call it.
[[nodiscard]] std::vector<std::string> remarks_of_all(const std::vector<std::string>& mine, Ranks& job);

}  // namespace unweave
