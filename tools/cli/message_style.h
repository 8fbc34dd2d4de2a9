// tools/cli/message_style.h - the library's messages as the command line has them.
#pragma once

#include <string>
#include <string_view>

#include "storage/io/message.h"

namespace unweave {

/// "--memory", "--rows all" and "`unweave verify demo.store`" in the places of a message's marks.
[[nodiscard]] inline std::string command_text(std::string_view message) {
  return shown(message, {"--", " ", "", "`unweave ", "`"});
}

}  // namespace unweave
