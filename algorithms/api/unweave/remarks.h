// algorithms/api/unweave/remarks.h - what whoever calls should hear before models go, change or
// stay behind: texts with marks (storage/io/message.h), for programs to print or to warn of.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/updates/request_status.h"
#include "storage/types/request.h"
#include "unweave/models.h"
#include "unweave/rows.h"
#include "unweave/store.h"

namespace unweave {
inline namespace v0 {

/// In what `next` differs from the store's propagation; empty where it does not, or where the store
/// has none. Throws UsageError for what propagate() refuses.
[[nodiscard]] std::string remark_on_propagation(const Writer& writer, const PropagationSpec& next);
/// Which models stand on the present propagation and have to be trained again after that; empty for
/// none.
[[nodiscard]] std::string remark_on_lost_models(const Writer& writer, const PropagationSpec& next);
/// In what the options of a training differ from those of the model that it replaces; empty where
/// they do not.
[[nodiscard]] std::string remark_on_model(const ModelFacts& present, const ModelFacts& next);
/// That a purge takes these models away; empty for none.
[[nodiscard]] std::string remark_on_removed_models(std::span<const std::string> names);
/// That these models do not follow a stream, and what lets them; empty for none.
[[nodiscard]] std::string remark_on_models_left_behind(std::span<const std::string> names);
/// That notes of a batch name a moment that has passed, and what removes the things that they are
/// of; empty where none that was applied does. `statuses`: one a request. `store`: its folder.
[[nodiscard]] std::string remark_on_past_expiries(std::span<const Request> requests,
                                                  std::span<const RequestStatus> statuses,
                                                  const std::filesystem::path& store);
/// That requests of a batch insert nodes beyond the `nodes` of the store, and what makes room for
/// them; empty where none does. `statuses`, `store`: as above.
[[nodiscard]] std::string remark_on_missing_room(std::span<const Request> requests,
                                                 std::span<const RequestStatus> statuses, std::uint64_t nodes,
                                                 const std::filesystem::path& store);
/// That a model stands on another propagation than the store's, or else that it has not absorbed
/// all; empty where neither is so.
[[nodiscard]] std::string remark_on_state(const StoredModel& model, const Reader& reader);
/// That some of these nodes, which have rows, have nothing in the store, as those that were
/// removed: what a model says of them is the same for all. Empty where none is so. Without `nodes`
/// it looks at all. Throws UsageError for a node that there is not.
[[nodiscard]] std::string remark_on_blank_nodes(const Reader& reader, const std::optional<std::vector<NodeId>>& nodes);

}  // namespace v0
}  // namespace unweave
