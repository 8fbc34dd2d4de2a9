// storage/upgrades/from_4.h - from version 4 of the manifest, with version 1 of the journal, to version 5.
//
// Version 4 had the name of the journal where version 5 has an entry with its length and root, and recorded no models. Its
// journal was not tied to its name, and had the kind of a request before its ids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "storage/formats/journal.h"

namespace unweave::from_4 {

/// The contents of a manifest of version 5 that names no journal; puts the name of the journal into `journal`, empty where
/// there is none. What is missing or of another kind is told by nlohmann's exceptions and std::runtime_error.
[[nodiscard]] nlohmann::ordered_json next_contents(nlohmann::ordered_json contents, std::string& journal);

/// Calls `use` for every record of the journal after request `sequence`. Throws FormatError for one that is damaged, and for
/// what a crash left at its end: the program that wrote it cuts that off when it next writes the store.
void read_journal(const std::filesystem::path& file, std::uint64_t sequence,
                  const std::function<void(const JournalBatch&)>& use);

}  // namespace unweave::from_4
