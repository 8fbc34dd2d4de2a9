// algorithms/api/unweave/diagnosis.h - what a machine offers, what would hinder work on it, and
// what a store waits for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "unweave/resources.h"

namespace unweave {
inline namespace v0 {

enum class Verdict {
  ok,
  note,     ///< worth knowing
  problem,  ///< work fails, or private data are open to others
};

struct Diagnosis {
  std::string name;  ///< a key, as "free-disk"
  std::string fact;  ///< what was found; a message, as is the remedy (storage/io/message.h)
  Verdict verdict = Verdict::ok;
  std::string remedy{};  ///< empty where all is well
  bool of_data = false;  ///< a problem of a store, not of the machine
};

/// The machine, and `folder` as a place for stores, with the rates of its disk and of the memory
/// that predictions rest on (engine/resources/machine_profile.h). Those are measured, by a file
/// without a name of 128 MiB at most, where none are kept or `anew` is set.
[[nodiscard]] std::vector<Diagnosis> diagnose_machine(const std::filesystem::path& folder, Resources& resources,
                                                      bool anew = false);

/// What a store waits for, and who may read what only its owner should. Reads no more of it than an
/// opening does; damage that shows there is a finding. Throws ResourceError.
[[nodiscard]] std::vector<Diagnosis> diagnose_store(const std::filesystem::path& store, Resources& resources);

}  // namespace v0
}  // namespace unweave
