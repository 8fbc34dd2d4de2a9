// algorithms/verification/verify.h - is a store what it says it is? Checksums of every file, then
// statements about the contents that hold exactly, each tested by a plain computation of its own.
//
//   files      every file that the manifest names is the one meant, undamaged and well formed
//   graph      no self loops, and every arc u -> v has its arc v -> u
//   splits     train, valid and test are disjoint and labelled
//   cone       the receptive field: each level keeps the rows that the level above reads, and
//              counts them rightly
//   stale      stale rows belong to the receptive field, and the sums that bound their error are
//              exact
//   propagation  every sum of every level is that of its terms, S^l(u) = sum of published t^{l-1}
//                over u and its neighbours,
//              as integers: all at once by random combinations of them, in one pass over graph,
//              features and sums (engine/sweep/fingerprint.h). What is wrong passes with 2^-48 at
//              most, and is then looked for row by row. A budget without room for that leaves a
//              sample of rows, which a remark says
//   models     every model and every log of certificates is readable and the two agree; a log is
//              one chain under one key, and the private parts that are there are those that it
//              commits to; what the newest certificate says of constants, noise and (epsilon,
//              delta) is what comes out again
//   releases   the published weights of newton and retrain stand from the minimiser where the noise
//              puts them; those of scalegun, cgu and ceu leave no larger gradient than the bound
//              says; certified ones of langevin stand no farther from a run without noise than
//              noise carries them. Needs a model up to date and the exact embedding; all present
//              rows are read, whatever the sample
//   rebuild    (on request) all sums equal those of a fresh propagation of the contents
//
// Nothing is written. Damaged files that the manifest names are all that is reported of a store's
// contents, since nothing can be said about these; a damaged model or log is not. Features and
// sums, most of a store, are read once: their checksums are those of the pass that proves the sums.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace unweave {

class MemoryBudget;

struct VerifyOptions {
  std::optional<std::uint64_t> sample = 1000;  ///< nodes looked at a level where a check samples; nullopt: all
  bool rebuild = false;
  std::uint64_t seed = 1;  ///< seed of the sample
  /// The key that certificates must be signed under, in hexadecimal digits; without it, any key
  /// will do.
  std::optional<std::string> public_key{};
  /// A copy of the store from before removals: models of T1 must not lean towards what they were
  /// there. Empty: none.
  std::filesystem::path before{};
};

/// One thing that is wrong.
struct Finding {
  bool unreadable = false;  ///< a file is missing, damaged or malformed; else a statement is false
  std::string text;         ///< a message of one line: file and place, or node and level
  std::string file{};       ///< the file that is damaged, where it is one
};

struct VerifyReport {
  std::uint64_t files = 0;             ///< files read in full
  std::uint64_t bytes = 0;             ///< bytes of these files
  std::uint64_t unfinished_parts = 0;  ///< tiles and partitions of propagations that are not finished, read in full
  std::uint64_t arcs = 0;              ///< arcs whose reverse was looked for
  std::uint64_t rows = 0;              ///< rows computed again: stale ones, and of sums those that are not proved
  std::uint64_t proved = 0;            ///< rows of all levels, whose sums were proved together
  std::uint64_t rebuilt = 0;           ///< how many of these by a propagation of all contents
  std::uint64_t rebuild_tiles = 0;     ///< column tiles of that propagation
  std::uint64_t rebuild_bytes = 0;     ///< memory that it was planned with
  std::uint64_t counts = 0;            ///< counts of readers, counted again
  std::uint64_t models = 0;            ///< models whose release was computed again
  std::uint64_t outdated = 0;          ///< models that have not absorbed all requests, or stand on another propagation
  std::uint64_t uncompared = 0;        ///< certified models of the present rows that could not be computed again
  std::uint64_t certificates = 0;      ///< certificates whose chain and signature were checked
  std::uint64_t receipts = 0;          ///< receipts that a certificate covers
  std::uint64_t applied = 0;           ///< receipts that say that their request was applied
  std::uint64_t rejected = 0;          ///< receipts that say that it was rejected; old ones say neither
  std::vector<Finding> findings;
  std::vector<std::string> remarks;  ///< messages: unusual, but not wrong

  [[nodiscard]] std::uint64_t checked() const {
    return files + arcs + rows + counts + models + certificates + receipts;
  }
  [[nodiscard]] bool ok() const { return findings.empty(); }
  [[nodiscard]] bool unreadable() const;
};

/// Where a writer is at work, what is told holds of one generation; where writers leave no time for
/// that, ResourceError. Throws ResourceError, and UsageError for a rebuild of a store that was not
/// propagated or has stale rows; what is wrong with the store itself is found, not thrown.
[[nodiscard]] VerifyReport verify_store(const std::filesystem::path& store, const VerifyOptions& options,
                                        MemoryBudget& budget);

}  // namespace unweave
