// tools/service/prediction_desk.h - what models say of nodes, whole graphs and pairs of nodes, for
// who calls the service.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "tools/service/http_call.h"
#include "tools/service/intake.h"
#include "unweave/store.h"

namespace unweave {

/// Each of these calls opens the store, takes the memory of a reader, and has its turn with the
/// thread that applies: there is one at a time (Lane::predictions). Throws BusyError where the
/// service ends meanwhile.
class PredictionDesk {
 public:
  /// All that it refers to outlives it. `ends`: whether the service does.
  PredictionDesk(const std::filesystem::path& store, Intake& intake, Resources& resources, std::function<bool()> ends)
      : store_(store), intake_(intake), resources_(resources), ends_(std::move(ends)) {}

  /// Classes of the nodes or of the whole graphs that the query lists.
  [[nodiscard]] Answer predict(Call& call) const;
  /// How likely an edge is, of the pairs in the body.
  [[nodiscard]] Answer score_pairs(Call& call) const;
  /// The best pairs with a node that it has no edge to.
  [[nodiscard]] Answer best_links(Call& call, const std::string& node) const;

 private:
  class Told;
  class Watch;
  [[nodiscard]] Answer with_model(Call& call, const char* list, const std::function<void(Told& told)>& tell) const;
  void tell_nodes(const std::string& words, Told& told) const;
  void tell_graphs(const std::string& words, Told& told) const;
  [[nodiscard]] std::string names_of_several_models() const;

  const std::filesystem::path& store_;
  Intake& intake_;
  Resources& resources_;
  std::function<bool()> ends_;
};

}  // namespace unweave
