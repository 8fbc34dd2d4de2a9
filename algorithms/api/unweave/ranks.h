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

#include "engine/ranks/ranks.h"
#include "storage/formats/manifest.h"
#include "unweave/store.h"

namespace unweave {
inline namespace v0 {

/// The part of a rank other than 0 while rank 0 is in Writer::propagate() with the same specification. Throws what it throws,
/// and what other ranks throw.
void follow_propagation(const Reader& store, const PropagationSpec& spec);

}  // namespace v0
}  // namespace unweave
