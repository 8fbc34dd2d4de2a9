// engine/ranks/launcher.cpp - what launchers tell of themselves.
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "engine/ranks/join.h"

namespace unweave {

std::size_t launched_ranks() {
  std::size_t ranks = 0;
  // Open MPI's own; of those that speak PMI, as MPICH's; with PMIx alone Slurm says how many there
  // are.
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS"}) {
    if (std::string_view(name).starts_with("SLURM") && std::getenv("PMIX_RANK") == nullptr) continue;
    const char* const text = std::getenv(name);
    if (text == nullptr) continue;
    const std::string_view digits(text);
    std::size_t number = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc() && number > ranks)
      ranks = number;
  }
  return ranks;
}

}  // namespace unweave
