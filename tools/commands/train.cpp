// tools/commands/train.cpp - `unweave train`: a model on the training rows, saved in the store.
#include "tools/commands/commands.h"
#include "tools/commands/model_output.h"
#include "tools/commands/solver_options.h"
#include "tools/commands/training.h"
#include "unweave/fields/models.h"
#include "unweave/ranks.h"

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
  Ranks& job = Ranks::world();
  if (!job.first()) {  // its share of the rows, and nothing to say
    job.barrier();     // rank 0 has opened the store
    follow_training(Reader(line.positional(0), resources), how);
    return Figures().ranks();
  }
  Writer writer(line.positional(0), resources);
  job.barrier();
  const TrainedModel trained = writer.train(how);
  progress.finish();
  warn_of_training(line, trained);
  Figures figures{.table = Table({"trained", model_text(trained.facts.name, trained.facts.solver)})};
  describe(trained, MeasuredFields(figures.json, measure));
  add_training(figures.table, line, trained);
  figures.ranks();
  figures.table.add_row({"whole command", seconds_text(measure.seconds())});
  figures.print(line.out(), line.common().json);
}

}  // namespace unweave
