// algorithms/api/unweave/ranks.h - work that the ranks of a job share (engine/ranks/ranks.h).
//
// All ranks call import_store() of unweave/ingest.h alike. For what follows, rank 0 opens the store
// first, as its one writer, and works as a program alone does; the others open it to read, after a
// barrier, and follow:
//
//   if (Ranks::world().first()) {
//     Writer writer(path, resources);
//     Ranks::world().barrier();
//     writer.propagate(spec);
//   } else {
//     Ranks::world().barrier();
//     const Reader reader(path, resources);
//     follow_propagation(reader, spec);
//   }
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/graph/local_lists.h"
#include "engine/ranks/ranks.h"
#include "storage/types/propagation_spec.h"
#include "unweave/store.h"

namespace unweave {
inline namespace v0 {

/// The part of a rank other than 0 while rank 0 is in Writer::propagate() with the same
/// specification and PropagateHow::by_rows. Returns a message for each damaged part of an earlier
/// propagation that this rank has dropped. Throws what it throws, and what other ranks throw.
std::vector<std::string> follow_propagation(const Reader& store, const PropagationSpec& spec, bool by_rows = false);

/// The part of a rank other than 0 while rank 0 has a StreamSession of a Writer that it opened with
/// this job: no barrier comes before. It follows each batch in its columns of the embedding, and
/// has the graph whole, until the session is closed. Batches are exact, and neither models nor a
/// feed of changes follow them. Throws what rank 0 or another one has failed with.
void follow_stream(const std::filesystem::path& store, Resources& resources, Ranks& ranks);

/// The part of a rank other than 0 while rank 0 is in Writer::train() with the same options. Each
/// rank has the training rows of its share, and all numbers that decide anything are equal on all
/// of them: the weights before noise, and what is said of them, have the bits that one process
/// finds where its memory holds as much beside the rows (algorithms/learning/working_memory.h).
/// Noise is drawn on rank 0. Both throw UsageError for a solver that trains alone, for ranks on
/// processors that round differently, and where rows are stale, DataError where ranks see different
/// stores.
void follow_training(const Reader& store, const TrainOptions& options);

}  // namespace v0
}  // namespace unweave
