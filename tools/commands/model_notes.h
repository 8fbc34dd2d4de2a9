// tools/commands/model_notes.h - remarks on standard error, before a command takes models away or
// leaves them behind.
#pragma once

#include <string>

#include "tools/cli/command.h"
#include "unweave/remarks.h"

namespace unweave {

/// A remark of unweave/remarks.h; nothing where it is empty.
void note_remark(const CommandLine& line, const std::string& remark);

}  // namespace unweave
