// algorithms/updates/id_conflict.h - an id that stands for another request already: whoever sends
// such a request is told, and nothing is done. Were it taken for the earlier one sent again, what
// it asks for would never happen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/io/error.h"
#include "storage/io/time_text.h"

namespace unweave {

/// What the id of a request says of it.
enum class IdUse : std::uint8_t {
  fresh,   ///< no request had it, or this one has none
  known,   ///< an earlier request had it, and asked for the same
  other,   ///< an earlier request had it, and asked for something else
  unkept,  ///< an earlier request had it, and nothing is kept of what it asked for
};

struct IdConflict {
  std::size_t index = 0;  ///< which request of the batch has the id
  std::string id;         ///< as printable() has it
  std::optional<std::size_t>
      earlier_in_batch;        ///< the request of the same batch for which the id stands; none: an earlier one,
  std::uint64_t sequence = 0;  ///< its number,
  std::string kind;            ///< its kind (kind_name()),
  Millis time = 0;             ///< when it became durable,
  bool waiting = false;        ///< whether it is still to be applied,
  bool purged = false;         ///< whether the store was purged since
  bool kept = true;            ///< whether it is known that it asked for something else; where not, nobody can tell
};

/// "the id T7 stands for another request already: request 5 (node), acknowledged at
/// 2026-03-01T12:00:00.123Z"; without what the request asked for. `place`: of the earlier request
/// of the batch, where there is one, as its sender counts.
[[nodiscard]] std::string text_of(const IdConflict& conflict, const std::string& place = {});

/// Nothing of the batch was done.
struct IdConflictError final : UsageError {
  explicit IdConflictError(std::vector<IdConflict> all);
  std::vector<IdConflict> conflicts;  ///< one at least
};

}  // namespace unweave
