// storage/input/bytes/only_members.h - archives whose arrays have fixed names, and hold no others.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace unweave {

/// Throws InputError for a member of an archive that is not among those which are read: another
/// program may go by it.
void require_only(const std::filesystem::path& archive, const std::vector<std::string>& members,
                  const std::vector<std::string>& read);

}  // namespace unweave
