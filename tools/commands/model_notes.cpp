// tools/commands/model_notes.cpp - prints the remarks about models that are replaced or left
// behind.
#include "tools/commands/model_notes.h"

#include "tools/cli/message_style.h"

namespace unweave {

void note_remark(const CommandLine& line, const std::string& remark) {
  if (!remark.empty()) line.note(command_text(remark));
}

}  // namespace unweave
