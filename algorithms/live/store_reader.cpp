// algorithms/live/store_reader.cpp - applies requests to what lies in memory alone.
#include "algorithms/live/store_reader.h"

#include "algorithms/updates/update.h"

namespace unweave {

UpdateReport StoreReader::rehearse(std::span<const Request> requests) {
  const BatchChanges changes = resolve(requests);
  charge_changes(changes);
  return propagate_batch(changes, {}, LastLevel::at_once);
}

}  // namespace unweave
