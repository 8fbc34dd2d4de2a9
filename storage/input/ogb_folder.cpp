// storage/input/ogb_folder.cpp - finds the files of a data set in either layout of OGB, and reads
// its two counts.
#include "storage/input/ogb_folder.h"

#include <string_view>
#include <vector>

#include "storage/input/bytes/npy.h"
#include "storage/input/ogb_files.h"
#include "storage/io/error.h"

namespace unweave {

namespace {

namespace fs = std::filesystem;

StatedCount read_array_count(const fs::path& archive, const std::string& member) {
  NpyReader array(InputFile{archive, member});
  array.require_integers("counts");
  if (array.header().elements != 1)
    throw InputError(array.name(), ".npy header", "shape " + array.header().shape_text() + " instead of one count",
                     kOneGraph);
  std::vector<std::int64_t> count(1);
  array.read(count);
  const std::string place = "element " + array.index_text(0);
  if (count[0] < 0)
    throw InputError(array.name(), place, std::to_string(count[0]) + " is not a count", kFetchFolderAgain);
  return {static_cast<std::uint64_t>(count[0]), {archive, member}, place};
}

[[noreturn]] void refuse_relations(const std::string& file) {
  throw DataError(file +
                  ": the edges are of several kinds, in one file; give those of each kind a file of their own by " +
                  option("relation", "NAME=FILE") + ", or move this file away where they are all the same to you");
}

OgbFolder text_layout(const fs::path& raw) {
  if (const auto kinds = file_if_present(raw / "edge_reltype.csv.gz")) refuse_relations(kinds->path.string());
  OgbFolder found;
  found.edges = required_file(raw / "edge.csv.gz");
  found.features = required_file(raw / "node-feat.csv.gz", "fetch it again, or take a data set that has features");
  found.labels = file_if_present(raw / "node-label.csv.gz");
  for (const char* const name : {"edge-feat.csv.gz", "edge-weight.csv.gz", "edge_feat.csv.gz", "edge_weight.csv.gz"})
    if (!found.edge_values) found.edge_values = file_if_present(raw / name);
  found.num_nodes = read_text_count(raw / "num-node-list.csv.gz");
  found.num_edges = read_text_count(raw / "num-edge-list.csv.gz");
  return found;
}

OgbFolder array_layout(const fs::path& raw) {
  const fs::path data = raw / "data.npz";
  OgbFolder found;
  found.edges = {data, "edge_index"};
  found.features = {data, "node_feat"};
  if (const auto labels = file_if_present(raw / "node-label.npz")) found.labels = InputFile{labels->path, "node_label"};
  for (const std::string& name : npz_members(data))
    if (name.starts_with("edge_reltype"))
      refuse_relations(display_name(InputFile{data, name}).string());
    else if (name == "edge_feat" || name == "edge_weight")
      found.edge_values = InputFile{data, name};
  found.num_nodes = read_array_count(data, "num_nodes_list");
  found.num_edges = read_array_count(data, "num_edges_list");
  return found;
}

}  // namespace

OgbFolder open_ogb_folder(const fs::path& folder) {
  const fs::path raw = folder / "raw";
  if (const auto archive = file_if_present(raw / "edge_index_dict.npz"))
    throw DataError(
        archive->path.string() +
        ": a heterogeneous data set in arrays, which is read in text alone; fetch it in the form that ogbn-mag "
        "has, with raw/triplet-type-list.csv.gz, or give its parts by " +
        option("type") + ", " + option("relation") + " and " + option("features-of"));
  const bool text = file_if_present(raw / "edge.csv.gz").has_value();
  const bool arrays = file_if_present(raw / "data.npz").has_value();
  if (text && arrays)
    throw DataError(raw.string() + ": both edge.csv.gz and data.npz; leave the one that belongs to the data set");
  if (!text && !arrays)
    throw DataError(folder.string() +
                    ": neither raw/edge.csv.gz nor raw/data.npz lies there; name the folder of one "
                    "data set of OGB, which holds raw and split");
  OgbFolder found = text ? text_layout(raw) : array_layout(raw);
  if (!found.labels) return found;
  const SplitFiles split = split_files(folder / "split");
  found.train = split.train;
  found.valid = split.valid;
  found.test = split.test;
  return found;
}

}  // namespace unweave
