// storage/upgrades/from_2.h - from version 2 of the manifest to version 3, which says in how many bits features rest.
#pragma once

#include <nlohmann/json.hpp>

namespace unweave::from_2 {

/// The contents of a manifest of version 3: all features were float32.
[[nodiscard]] nlohmann::ordered_json next_contents(nlohmann::ordered_json contents);

}  // namespace unweave::from_2
