// algorithms/api/unweave/ranks.h - work that the ranks of a job share (engine/ranks/ranks.h).
//
// Rank 0 opens the store first, as its one writer, and works as a program alone does; the others open it to read, after a
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

#include "engine/ranks/ranks.h"
#include "storage/formats/manifest.h"
#include "unweave/store.h"

namespace unweave {
inline namespace v0 {

/// The part of a rank other than 0 while rank 0 is in Writer::propagate() with the same specification and PropagateHow::by_rows.
/// Throws what it throws, and what other ranks throw.
void follow_propagation(const Reader& store, const PropagationSpec& spec, bool by_rows = false);

/// The part of a rank other than 0 while rank 0 has a StreamSession of a Writer that it opened with this job: no
/// barrier comes before. It follows each batch in its columns of the embedding, and has the graph whole, until the session is
/// closed. Batches are exact, and neither models nor a feed of changes follow them. Throws what rank 0 or another one
/// has failed with.
void follow_stream(const std::filesystem::path& store, Resources& resources, Ranks& ranks);

}  // namespace v0
}  // namespace unweave
