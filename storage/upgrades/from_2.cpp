// storage/upgrades/from_2.cpp - adds what version 2 did not say.
#include "storage/upgrades/from_2.h"

namespace unweave::from_2 {

nlohmann::ordered_json next_contents(nlohmann::ordered_json contents) {
  contents["feature_type"] = "f32";
  return contents;
}

}  // namespace unweave::from_2
