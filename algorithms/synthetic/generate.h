// algorithms/synthetic/generate.h - synthetic stores, streamed straight into the store's format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "storage/types/feature_layout.h"
#include "storage/types/import_report.h"

namespace unweave {

class MemoryBudget;
class WorkMeter;

enum class GraphModel {
  kRmat,      ///< rmat.h: 2^scale nodes, skewed degrees; labels say nothing about edges
  kSbm,       ///< sbm.h: labels are blocks
  kCitation,  ///< citation.h: an edge is a citation; 1.4 % of the nodes have a label
};

struct GenerateOptions {
  GraphModel model = GraphModel::kRmat;
  int scale = 20;                             ///< 2^scale nodes, 0..31
  std::uint64_t edge_factor = 16;             ///< edges a node, before repeated ones and loops are dropped
  std::optional<std::uint64_t> nodes, edges;  ///< in place of scale (not for R-MAT) and of edge_factor
  std::uint32_t features = 128;               ///< class_features.h; 0 for none
  FeatureType feature_type = FeatureType::f32;
  std::uint32_t classes = 8;  ///< 0: no labels and splits
  std::uint64_t seed = 1;
  std::string order = "none";  ///< how nodes lie in the store: none, degree, bfs or community (graph_order.h)
};

/// The options of a graph like ogbn-papers100M: its nodes and edges, or as many edges a node; its
/// classes.
[[nodiscard]] GenerateOptions citation_options(std::optional<std::uint64_t> nodes = std::nullopt);

/// Builds a store in the folder `store`, missing or empty: edges, features, a label for every node,
/// and splits of about 60, 20 and 20 %. (kCitation: labels as CitationModel::labelled() says, and
/// splits of 78, 8 and 14 % by age.) Equal options give equal files, whatever the budget and the
/// threads; an order changes the files and not the contents. On any error nothing is left. Throws
/// UsageError for options that do not fit together, ResourceError.
BuildReport generate_store(const std::filesystem::path& store, const GenerateOptions& options, MemoryBudget& budget,
                           WorkMeter& meter);

}  // namespace unweave
