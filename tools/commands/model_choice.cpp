// tools/commands/model_choice.cpp - which of a store's models a command speaks of.
#include "tools/commands/model_choice.h"

#include "storage/io/shell_word.h"
#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/commands/model_output.h"
#include "tools/commands/solver_options.h"

namespace unweave {

void add_model_choice(CommandLine& line, const std::string& text) {
  line.set_choices("solver", solver_choices());
  line.options().add_options()("solver", po::value<std::string>()->value_name("NAME"), text.c_str());
  add_name_option(line);
}

void note_state(const CommandLine& line, const StoredModel& model, const Reader& reader) {
  const std::string &name = model.name(), &solver = model.solver();
  if (const std::optional<std::string> mismatch = propagation_mismatch(reader, model))
    return line.note(command_text(*mismatch));  // a stream could not bring it up to date
  if (const std::uint64_t absorbed = model.facts().sequence; absorbed != reader.acknowledged())
    line.note("the model " + model_text(name, solver) + " is outdated: it has absorbed " + count_text(absorbed) +
              " of " + counted(reader.acknowledged(), "request") + "; `unweave stream " +
              shell_word(reader.path().string()) + " --requests /dev/null " +
              (name == solver ? "--solver " : "--name ") + name + "` brings it up to date, so does `unweave train`");
}

}  // namespace unweave
