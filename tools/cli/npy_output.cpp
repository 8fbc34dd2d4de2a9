// tools/cli/npy_output.cpp - options that name the NumPy files which a command writes.
#include "tools/cli/npy_output.h"

#include <map>

#include "storage/io/error.h"
#include "storage/io/shell_word.h"
#include "tools/cli/output.h"

namespace unweave {

void check_npy_outputs(const CommandLine& line, const std::vector<std::string>& options,
                       const std::filesystem::path& store) {
  std::map<std::filesystem::path, std::string> taken;
  for (const std::string& option : options) {
    if (!line.has(option)) continue;
    const auto& name = line.get<std::string>(option);
    const std::filesystem::path file(name);
    if (name == "-" && line.out_is_terminal())
      throw UsageError(
          "--" + option +
          " -: a NumPy array is binary, and standard output is a terminal; name a file, or redirect it to one");
    const bool is_list = (option == "ids" || option == "edges") && file.extension() == ".txt";
    const std::filesystem::path uncompressed = file.extension() == ".gz" || file.extension() == ".zst"
                                                   ? std::filesystem::path(file).replace_extension()
                                                   : file;
    if (file.has_extension() && file.extension() != ".npy" && !is_list)
      throw UsageError(("--" + option)
                           .append(": ")
                           .append(name)
                           .append(" would hold a NumPy array, whatever its name says; call it ")
                           .append(std::filesystem::path(uncompressed).replace_extension(".npy").string())
                           .append(" (numpy.load reads it, numpy.savetxt or pandas writes other formats)"));
    line.require_outside(option, store);
    const auto [other, added] = taken.emplace(name == "-" ? file : std::filesystem::weakly_canonical(file), option);
    if (!added)
      throw UsageError(("--" + other->second).append(" and --").append(option).append(" name the same file, ") + name);
  }
}

void check_node_numbers(const CommandLine& line, const NodeNames& names, const std::vector<std::string>& options) {
  if (names.ids_are() != IdsAre::names) return;
  for (const std::string& option : options) {
    if (!line.has(option)) continue;
    const std::filesystem::path file(line.get<std::string>(option));
    if (option != "ids")
      line.note("--" + option +
                ": numbers in this array are positions in the order of `export --names`, from 0; where numbers are " +
                "given to this store, they are names");
    else if (file.extension() != ".txt")
      throw UsageError(
          "--ids: the array would have positions of nodes, and numbers in an array are names in this store; give --ids " +
          std::filesystem::path(file.string() == "-" ? "ids" : file).replace_extension(".txt").string() +
          ", which has the names, one a line");
  }
}

NpyTarget npy_target(const CommandLine& line, const std::string& option) {
  const auto& name = line.get<std::string>(option);
  return name == "-" ? NpyTarget(line.out()) : NpyTarget(std::filesystem::path(name));
}

void note_missing_rows(const CommandLine& line, const std::filesystem::path& store, std::uint64_t missing,
                       std::uint64_t asked, const std::string& fate) {
  if (missing == 0) return;
  line.note(count_text(missing) + " of " + count_text(asked) +
            " nodes have no embedding: they were removed, or never had a label; " + fate +
            "; for those that are there, `unweave propagate " + shell_word(store.string()) +
            " --rows all` computes rows (train again then)");
}

}  // namespace unweave
