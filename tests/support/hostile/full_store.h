// tests/support/hostile/full_store.h - small stores that have a file of every kind, as bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace unweave::testing {

/// Relative path to content; a store's folders are those that files lie in.
using Files = std::map<std::string, std::string>;

/// A store, and others of its shape.
struct FullStore {
  std::string name;
  Files files;
  Files of_other_seed;               ///< built in the same way from other data
  std::vector<std::string> solvers;  ///< solvers of its models
  std::string journal;               ///< path of the requests that no generation holds, or empty
  bool streams = true;               ///< takes requests
};

/// An order, changes, reference counts, lists of the targets, runs, stale rows, a journal of three
/// batches; a model that has not seen the last ones and one with statistics.
[[nodiscard]] FullStore lazy_store();
/// Sparse features of 16 bits; models of ten solvers, each of which followed one batch.
[[nodiscard]] FullStore model_store();

/// Whole graphs of mixed nodes, some of them emptied by requests of every kind; models of their
/// pooled rows that followed these, and a journal of a later batch.
[[nodiscard]] FullStore whole_graphs_store();

/// Rows in place of sums, in 16 bits at both levels, of the labelled nodes; a model of them. It
/// takes no requests.
[[nodiscard]] FullStore kept_store();

/// Replaces what lies in the folder.
void write_files(const Files& files, const std::filesystem::path& folder);

/// How a child process ended.
struct Ended {
  int code = 0;      ///< exit code, or minus the signal that killed it
  std::string text;  ///< what the work returned
};
/// Runs the work in a child, which may use `seconds` of a processor and that much time: the parent
/// must have no threads.
Ended run_apart(const std::function<std::string()>& work, unsigned seconds = 120);

}  // namespace unweave::testing
