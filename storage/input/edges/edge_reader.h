// storage/input/edges/edge_reader.h - the edges of a user's file as a stream.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "storage/input/bytes/byte_source.h"
#include "storage/input/edges/edge_weight.h"
#include "storage/input/edges/named_edges.h"
#include "storage/io/types.h"
#include "storage/types/ids_are.h"
#include "storage/types/weight_unit.h"

namespace unweave {

/// Edges in the file's order, as they stand there: with self loops, repeats and either direction.
/// Every id is in [0, N) where N is declared, else in [0, kMaxNodeId]. Not thread-safe.
class EdgeReader {
 public:
  EdgeReader() = default;
  virtual ~EdgeReader() = default;
  EdgeReader(const EdgeReader&) = delete;
  EdgeReader& operator=(const EdgeReader&) = delete;

  /// Fills a part of `out` (not empty) and returns how many; 0 at the end, which is reached only if
  /// the file is whole. `weights`: room for one number an edge where EdgeOptions::max_weight says
  /// that they have some, else empty. Throws InputError naming line or element, DataError from the
  /// bytes below.
  std::size_t read(std::span<Edge> out, std::span<std::uint32_t> weights = {}) { return read_some(out, weights); }

  /// How many edges read() gives in all, where the file says so at its beginning (arrays do), those
  /// of weight 0 among them.
  [[nodiscard]] virtual std::optional<std::uint64_t> count() const { return std::nullopt; }

  /// The number of nodes that the file itself declares (Matrix Market does).
  [[nodiscard]] virtual std::optional<std::uint64_t> declared_nodes() const { return std::nullopt; }

  /// Whether the file itself says that its edges have no direction (METIS and symmetric Matrix
  /// Market do), so that an edge need not stand there in both.
  [[nodiscard]] virtual bool is_undirected() const noexcept { return false; }

  /// What read() has left out so far.
  [[nodiscard]] virtual LeftOutWeights left_out() const { return {}; }

 private:
  virtual std::size_t read_some(std::span<Edge> out, std::span<std::uint32_t> weights) = 0;
};

struct EdgeOptions {
  std::optional<std::uint64_t> num_nodes;                                   ///< ids must be below it
  std::filesystem::path temp_dir = std::filesystem::temp_directory_path();  ///< for a 2 x m array from a pipe
  bool two_rows = false;  ///< an array is 2 x m: 2 x 2 too, and m x 2 is an error
  /// A third number a line, or values other than 1 of a matrix, are dropped, but for zeros, whose
  /// edges are; else errors.
  bool ignore_weights = false;
  /// Above 1: edges have weights, whole numbers from 1 to this: a third number a line, "{'weight':
  /// 3}" behind an edge of NetworkX, the values of a matrix, METIS's edge weights, the array
  /// edge_weight of an archive, or what `weights` has.
  std::uint32_t max_weight = 1;
  std::optional<InputFile> weights{};  ///< `.npy` of one number an edge, for arrays of edges
  std::optional<IdsAre> ids_are{};     ///< what numbers mean where nodes have names, where somebody has said so
  bool ids_from_one = false;           ///< text of two ids a line, the first node's id being 1, as TUDataset has it
  std::optional<WeightUnit> weight_unit{};  ///< weights are real numbers, and come as multiples of it
  std::string relation{};                   ///< whose edges these are, where edges have relations; for messages

  [[nodiscard]] WeightRule weight_rule() const { return {ignore_weights, max_weight, weight_unit, !relation.empty()}; }
  /// How somebody names a file of the weights of these edges.
  [[nodiscard]] std::string naming_weights(const std::string& file) const;
};

/// Opens edges, the format recognised by the first bytes (after gzip or zstd) or by the name (.npy,
/// .mtx):
/// - `.npy` of integers: m x 2, or 2 x m (2 x 2, which may be either, is an error, but for
///   edge_index of an archive), C or Fortran order;
/// - Matrix Market coordinate: pattern, real or integer (values are 1, weights, or ignored as
///   weights), general or symmetric, square;
/// - `.npz`: a sparse matrix of SciPy (csr, csc, coo; values are 1, weights, or ignored as
///   weights), the adjacency of Shchur's archives (adj_data ..), an array edge_index, or the only
///   array;
/// - METIS adjacency lists, by the name .metis or where no list of edges begins so; node and edge
///   weights may be ignored;
/// - else text: two ids a line separated by blanks, tabs or a comma, a third number where weights
///   are ignored, or attributes of NetworkX, "{}" or such as are ignored; `#` starts a comment
///   line; a header line is skipped where the file takes remarks. A text that turns out to be METIS
///   is an error.
/// Other formats, as foreign_format.h knows them, are errors that name them. A reader holds a few
/// MiB. It opens the file of a 2 x m array twice (the second time it skips to the second row); from
/// a pipe it spools the first row to temp_dir at 4 bytes an id.
[[nodiscard]] std::unique_ptr<EdgeReader> open_edges(const InputFile& file, const EdgeOptions& options = {});

/// Edges of a graph whose nodes have names, which text speaks of. What numbers in a text and in
/// arrays mean, options.ids_are says; where nobody did, those in arrays are positions and those in
/// a text are names. Matrices and METIS, which is recognised by its name alone, have positions, and
/// are refused where numbers are names. One of both is there.
struct OpenedEdges {
  std::unique_ptr<EdgeReader> numbers;
  std::unique_ptr<NamedEdges> names;
};
/// `names`: the file that has the names, for messages.
[[nodiscard]] OpenedEdges open_named_edges(const InputFile& file, const EdgeOptions& options, FindNodes find,
                                           std::string names);

}  // namespace unweave
