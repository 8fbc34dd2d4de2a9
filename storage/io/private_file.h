// storage/io/private_file.h - files of a store that are for its owner alone: models, private parts
// of certificates, files of solvers, the journal, the list of what was removed. What an auditor
// reads, and all others, have the rights that the umask leaves.
#pragma once

#include <filesystem>

#include "storage/io/file.h"

namespace unweave {

inline constexpr unsigned kOwnerAlone = 0600;

/// Creates a new file that nobody but its owner reads or writes, whatever the umask; throws when it
/// exists.
[[nodiscard]] File create_private(const std::filesystem::path& path);
/// Takes the rights of all others to a file that is there, as far as the system lets us.
void make_private(const File& file) noexcept;

/// Whether the file that lies in a store by this name, such as "models/newton.model", is for its
/// owner alone.
[[nodiscard]] bool is_private(const std::filesystem::path& name);

}  // namespace unweave
