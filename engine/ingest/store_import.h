// engine/ingest/store_import.h - a store from a user's files: edges, features, labels, splits.
#pragma once

#include <filesystem>

#include "engine/ranks/ranks.h"
#include "storage/input/import_options.h"
#include "storage/types/import_report.h"

namespace unweave {

class MemoryBudget;
class WorkMeter;

/// Builds a store in the folder `store`, which is missing, empty or what a killed import left.
/// Nodes: as declared or stated, else names, rows of the features, else of the labels, else what a
/// Matrix Market header says, else the largest id + 1, which is at most 2^24 + 64 x edges + 1.
/// Classes: as declared, else the largest label + 1. Equal contents give equal files, whatever the
/// order of the edges, the budget and the threads. An edge that comes with two weights is an error;
/// repeats of one weight are dropped.
///
/// No step holds the edges: they are sorted in a part of the budget and temporary files inside
/// `store`. Under an order the graph is built twice: by ids, for the order to be computed from it,
/// then by positions.
///
/// The ranks of a job share the work where all of them call this with the same options: each reads
/// all edges and has the shards and features of some spans, in its own budget; `store` and the
/// files lie on storage that all see. Where the number of nodes is not known before the edges, rank
/// 0 reads these once more. The store and the report, which rank 0 has and others return empty, are
/// those of one process, but for spooled_bytes, which all budgets together decide. Throws
/// UsageError for an order, names, standardize and pipes.
///
/// On any error nothing is left. Where the process is killed what it had made stays, until the next
/// import into this folder removes it and begins anew. Throws UsageError for options that do not
/// fit together, InputError and DataError for files, ResourceError.
ImportReport import_store(const std::filesystem::path& store, const ImportOptions& options, MemoryBudget& budget,
                          WorkMeter& meter, Ranks& job = Ranks::world());

}  // namespace unweave
