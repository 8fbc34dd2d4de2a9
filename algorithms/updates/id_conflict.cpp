// algorithms/updates/id_conflict.cpp - says what an id stands for.
#include "algorithms/updates/id_conflict.h"

#include <utility>

namespace unweave {

std::string text_of(const IdConflict& conflict, const std::string& place) {
  const std::string name = "the id " + conflict.id;
  if (conflict.earlier_in_batch)
    return name + " stands for " +
           (place.empty() ? "request " + std::to_string(*conflict.earlier_in_batch) + " of the same batch" : place) +
           ", which asks for something else";
  const std::string earlier = "request " + std::to_string(conflict.sequence) + " (" + conflict.kind +
                              "), acknowledged at " + time_text(conflict.time);
  if (conflict.kept) return name + " stands for another request already: " + earlier;
  return name + " was used before: " + earlier +
         (conflict.purged ? ", of which a purge has left nothing" : ", of which an older program has kept nothing") +
         " that could tell whether this is the same request";
}

IdConflictError::IdConflictError(std::vector<IdConflict> all)
    : UsageError("request " + std::to_string(all.front().index) + " of the batch: " + text_of(all.front()) +
                 "; give this request an id of its own; nothing of the batch was done"),
      conflicts(std::move(all)) {}

}  // namespace unweave
