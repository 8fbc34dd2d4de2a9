// tools/commands/model_choice.cpp - which of a store's models a command speaks of.
#include "tools/commands/model_choice.h"

#include "tools/commands/model_notes.h"
#include "tools/commands/model_output.h"
#include "tools/commands/solver_options.h"

namespace unweave {

void add_model_choice(CommandLine& line, const std::string& text) {
  line.set_choices("solver", solver_choices());
  line.options().add_options()("solver", po::value<std::string>()->value_name("NAME"), text.c_str());
  add_name_option(line);
}

void note_state(const CommandLine& line, const StoredModel& model, const Reader& reader) {
  note_remark(line, remark_on_state(model, reader));
}

}  // namespace unweave
