// tools/commands/train.cpp - `unweave train`: a model on the training rows, saved in the store.
#include <optional>

#include "tools/commands/commands.h"
#include "tools/commands/model_output.h"
#include "tools/commands/solver_options.h"
#include "tools/commands/training.h"

namespace unweave {

void run_train(CommandLine& line) {
  line.describe("Learns a model on the training rows and saves it in the store.", {"STORE"},
                "unweave train demo/debian.store --solver newton");
  add_training_options(line, names_of_solvers());
  if (!line.parse()) return;
  line.on_interrupt("the store is whole, with its model of before or the new one; run the command again");

  Measure measure;
  StepProgress progress(line.error(), line.shows_progress());
  const TrainOptions how = train_options(line, progress);
  Resources resources({line.common().memory_bytes}, &progress);
  const std::optional<TrainedModel> model = train_over_ranks(line.positional(0), resources, how);
  progress.finish();
  if (!model) return;  // rank 0 speaks for all
  const TrainedModel& trained = *model;
  warn_of_training(line, trained);
  if (line.common().json) {
    nlohmann::ordered_json json;
    add_training(json, trained, measure);
    if (trained.ranks > 1) {
      json["ranks"] = trained.ranks;
      json["sent_bytes"] = trained.traffic.sent_bytes;
      json["seconds_between_ranks"] = trained.traffic.seconds;
    }
    return write_json_line(line.out(), json);
  }
  Table table({"trained", model_text(trained.facts.name, trained.facts.solver)});
  add_training(table, line, trained);
  if (trained.ranks > 1)
    table.add_row({"ranks", count_text(trained.ranks) + ", which sent " + bytes_text(trained.traffic.sent_bytes)});
  table.add_row({"whole command", seconds_text(measure.seconds())});
  table.print(line.out());
}

}  // namespace unweave
