// storage/upgrades/from_3.h - from version 3 of the manifest to version 4, whose levels may have lists of few targets.
#pragma once

#include <nlohmann/json.hpp>

namespace unweave::from_3 {

/// The contents of a manifest of version 4 without such lists: a purge or a propagation makes them. What is missing or of
/// another kind is told by nlohmann's exceptions.
[[nodiscard]] nlohmann::ordered_json next_contents(nlohmann::ordered_json contents);

}  // namespace unweave::from_3
