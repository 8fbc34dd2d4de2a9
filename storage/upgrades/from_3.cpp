// storage/upgrades/from_3.cpp - adds what version 3 did not have.
#include "storage/upgrades/from_3.h"

namespace unweave::from_3 {

nlohmann::ordered_json next_contents(nlohmann::ordered_json contents) {
  for (nlohmann::ordered_json& level : contents.at("levels")) {
    level["targets"] = nullptr;
    level["lists"] = nlohmann::ordered_json::array();
  }
  return contents;
}

}  // namespace unweave::from_3
